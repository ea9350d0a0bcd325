/**
 * @file TypeScript's language service over one program and the declarations that the site's build gathered.
 */
import {
  createSystem,
  createVirtualTypeScriptEnvironment,
  type VirtualTypeScriptEnvironment,
} from '@typescript/vfs';
import ts from 'typescript';
import { refusedImports } from './refused-imports.js';
import type { TypeAnswers, TypeCompletion, TypeHover, TypeProblem } from './type-messages.js';

const PROGRAM = '/program.ts';
const HOST = '/host.d.ts';

/** What a program is given besides what it imports: see `ProgramHost`. */
const HOST_TYPES = `declare const console: { log(...values: unknown[]): void };\n`;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  types: [],
  strict: true,
  skipLibCheck: true,
};

/** See the file header. */
export class ProgramTypes {
  private readonly environment: VirtualTypeScriptEnvironment;

  /** @param files declarations by path, as `typeFiles` gathers them */
  constructor(files: Readonly<Record<string, string>>) {
    const system = createSystem(
      new Map([...Object.entries(files), [HOST, HOST_TYPES], [PROGRAM, ' ']]),
    );
    this.environment = createVirtualTypeScriptEnvironment(system, [HOST, PROGRAM], ts, OPTIONS);
  }

  /** Makes this the program. */
  update(source: string): void {
    // An empty file is one that is not there.
    this.environment.updateFile(PROGRAM, source === '' ? ' ' : source);
  }

  /** Errors of syntax and of types, and imports that the program cannot have. */
  problems(): readonly TypeProblem[] {
    const { languageService: service } = this.environment;
    const found = [
      ...service.getSyntacticDiagnostics(PROGRAM),
      ...service.getSemanticDiagnostics(PROGRAM),
    ];
    const refused = refusedImports(service.getProgram()!.getSourceFile(PROGRAM)!);
    const problems = found.map(({ start = 0, length = 0, messageText }) => ({
      from: start,
      to: start + length,
      message: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }));
    // One word about an import is enough.
    const others = problems.filter(({ from }) => !refused.some((each) => each.from === from));
    return [...others, ...refused];
  }

  /** What is known of the name at a position. */
  hover(position: number): TypeHover | null {
    const info = this.environment.languageService.getQuickInfoAtPosition(PROGRAM, position);
    if (info === undefined) return null;
    const { start, length } = info.textSpan;
    return {
      from: start,
      to: start + length,
      declaration: ts.displayPartsToString(info.displayParts),
      documentation: ts.displayPartsToString(info.documentation),
    };
  }

  /** Names that may stand at a position: members after a dot, else names in scope. */
  completions(position: number): readonly TypeCompletion[] {
    const found = this.environment.languageService.getCompletionsAtPosition(PROGRAM, position, {});
    return (found?.entries ?? []).map(({ name, kind }) => ({ name, kind }));
  }

  /** The answer to a question about the program as it is. */
  answer(kind: keyof TypeAnswers, position: number): TypeAnswers[keyof TypeAnswers] {
    if (kind === 'problems') return this.problems();
    return kind === 'hover' ? this.hover(position) : this.completions(position);
  }
}
