/**
 * @file What TypeScript says of some programs, with the options of the repository and without the promise that every tensor
 * is on the CPU, which a user has to make for himself.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Errors in the files themselves, as `file:line message`. */
export function typeErrors(files: readonly string[]): string[] {
  const base = fileURLToPath(new URL('../../../../tsconfig.base.json', import.meta.url));
  const { config } = ts.parseConfigFileTextToJson(base, readFileSync(base, 'utf8')) as {
    config: { compilerOptions: Record<string, unknown> };
  };
  const { options } = ts.convertCompilerOptionsFromJson(
    {
      ...config.compilerOptions,
      isolatedDeclarations: false,
      declaration: false,
      noUnusedLocals: false,
    },
    fileURLToPath(new URL('../..', import.meta.url)),
  );
  const program = ts.createProgram([...files], options);
  return files.flatMap((file) => {
    const source = program.getSourceFile(file)!;
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ start, messageText }) => {
      const line = source.getLineAndCharacterOfPosition(start ?? 0).line + 1;
      return `${file}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}
