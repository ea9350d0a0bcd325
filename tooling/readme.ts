/**
 * @file Tests that the TypeScript in a README runs, and prints what its comments say.
 *
 * The `ts` blocks of a README are one program; what needs files or servers that are not there is marked `ts no-run`. Where the comment behind a `console.log` begins with a value
 * (`// [1, 2, 3]`, `// true, and recorded`), the output must be that value; other comments are prose.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { bare, blocksOf, promisesOf } from './readme-program.mjs';

/** Blocks of a README in order, as one program; each statement that logs says from which line it is. */
function programOf(text: string): { code: string; promised: ReturnType<typeof promisesOf> } {
  const blocks = blocksOf(text).flatMap(({ words, code }) => (words === 'ts' ? [code] : []));
  const program = blocks.join('\n');
  const code = program
    .split('\n')
    .map((content, line) => content.replace(/(?<!\w)console\.log\(/, `readmeLog(${line}, `));
  return { code: code.join('\n'), promised: promisesOf(program) };
}

/** See `testReadme`. */
interface ReadmeOptions {
  /** The package that its code imports from; the README's own folder by default. */
  readonly from?: URL;
  /** Runs first; the reason that it gives, if any, is why the test is skipped. */
  readonly before?: () => Promise<string | null>;
}

/** Temporary files of the running test go to a folder that is gone after it: readers of a README need not tidy up. */
function inFolderOfItsOwn(): void {
  const outer = process.env['TMPDIR'];
  const folder = mkdtempSync(join(tmpdir(), 'readme-'));
  process.env['TMPDIR'] = folder;
  onTestFinished(() => {
    if (outer === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = outer;
    rmSync(folder, { recursive: true });
  });
}

/**
 * Defines the test for a README. Its program lies in the folder of results of a package, so that it imports what the
 * package may import.
 */
export function testReadme(
  readme: URL,
  { from = new URL('.', readme), before = async () => null }: ReadmeOptions = {},
): void {
  const { code, promised } = programOf(readFileSync(readme, 'utf8'));
  const path = fileURLToPath(readme);
  const name = basename(basename(path) === 'README.md' ? dirname(path) : path, '.md');
  const file = fileURLToPath(new URL(`.test-results/readme-of-${name}.ts`, from));
  const globals = globalThis as { readmeLog?: (line: number, ...values: unknown[]) => void };
  afterEach(() => {
    delete globals.readmeLog;
    vi.restoreAllMocks();
  });

  it('runs the code of the README, which prints what it says', async ({ skip }) => {
    const reason = await before();
    if (reason !== null) skip(reason);
    inFolderOfItsOwn();
    const printed = new Map<number, string>();
    globals.readmeLog = (line, ...values) => {
      const texts = values.map((value) => (typeof value === 'string' ? value : inspect(value)));
      printed.set(line, bare(texts.join(' ')));
    };
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `declare const readmeLog: (...values: unknown[]) => void;\n${code}`);
    await import(/* @vite-ignore */ pathToFileURL(file).href);
    for (const { line, comment } of promised) {
      const output = printed.get(line);
      const said = bare(comment).startsWith(output ?? ' ') ? output : bare(comment);
      expect(output, `line ${line} of the README's code`).toBe(said);
    }
  }, 60_000);
}
