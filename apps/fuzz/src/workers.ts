/**
 * @file Many programs in child processes: each runs a range of seeds with the options of the whole run, and prints the
 * programs that differ; the JSON lines become one.
 *
 * Ranges are short, so that processes end at about the same time and none grows old. One that dies is told with the
 * seeds it had, and the others go on.
 */
import { spawn } from 'node:child_process';
import type { FuzzResult } from './run.js';

/** Programs that a process runs at most. */
const RANGE = 100;

/** A range of seeds. */
interface Range {
  readonly seed: number;
  readonly n: number;
}

/** Disjoint ranges that cover `n` seeds from `seed`, so many that each worker gets several. */
export function rangesOf({ seed, n }: Range, workers: number): Range[] {
  const size = Math.max(1, Math.min(RANGE, Math.ceil(n / (workers * 4))));
  return Array.from({ length: Math.ceil(n / size) }, (_, i) => ({
    seed: seed + i * size,
    n: Math.min(size, n - i * size),
  }));
}

/** What a process printed: programs, then its result; null if it died before that. */
function readOutput(text: string): { programs: string; result: FuzzResult | null } {
  const end = text.trimEnd().lastIndexOf('\n{"seed":');
  const at = text.startsWith('{"seed":') ? 0 : end + 1;
  if (at === 0 && !text.startsWith('{"seed":')) return { programs: text, result: null };
  try {
    return { programs: text.slice(0, at), result: JSON.parse(text.slice(at)) as FuzzResult };
  } catch {
    return { programs: text, result: null };
  }
}

function runRange(script: string, args: readonly string[], { seed, n }: Range): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [...process.execArgv, script, ...args, '--seed', String(seed), '--n', String(n)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', () => resolve(''));
    child.on('close', () => resolve(Buffer.concat(chunks).toString()));
  });
}

/**
 * Runs `script`, which is this program, with `args` over all seeds, `workers` processes at a time.
 * Seeds of a process that died before its end count as failed.
 */
export async function runWorkers(
  script: string,
  args: readonly string[],
  whole: Range & { readonly backends: readonly string[]; readonly workers: number },
  onOutput: (programs: string) => void,
): Promise<FuzzResult> {
  const start = performance.now();
  const failed: number[] = [];
  const died: number[] = [];
  const left = rangesOf(whole, whole.workers);
  const work = async (): Promise<void> => {
    for (let range = left.shift(); range !== undefined; range = left.shift()) {
      const { programs, result } = readOutput(await runRange(script, args, range));
      if (programs.trim() !== '') onOutput(programs);
      if (result === null) died.push(range.seed);
      else failed.push(...result.failed);
    }
  };
  await Promise.all(Array.from({ length: whole.workers }, work));
  failed.sort((a, b) => a - b);
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  const { seed, n, backends } = whole;
  const mismatches = failed.length + died.length;
  return { seed, n, backends, mismatches, failed, died, seconds };
}
