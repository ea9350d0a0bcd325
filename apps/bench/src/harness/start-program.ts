/**
 * @file The first steps with a program, the same for every kind of workload: the first call, timed, and
 * the comparison with the reference.
 */
import { mismatch } from './check.js';
import type { LoadedEngine, Prepared, Recorded, Unsupported } from './engine.js';
import { checkedRanges, pickRanges, referenceValues } from './ranges.js';
import type { Case, Device, Workload } from './workload.js';

/** A program after its first calls. */
export interface Started {
  readonly program: Prepared;
  /** From compiling to the first result. */
  readonly firstCallMs: number;
}

/** Makes the program ready, times its first call and brings it to the state that is checked. */
export async function startProgram(
  engine: LoadedEngine,
  workload: Workload,
  instance: Case,
  quick: boolean,
): Promise<Started | Unsupported | Recorded> {
  const program = await engine.prepare(workload, instance, quick);
  if (!('first' in program)) return program;
  const begin = performance.now();
  await program.first();
  await program.finish?.();
  const firstCallMs = performance.now() - begin;
  for (let call = 1; call < instance.checkedCalls; call++) await program.run();
  await program.finish?.();
  return { program, firstCallMs };
}

/** A compared result. */
export interface Checked {
  /** What is wrong, or null. */
  readonly wrong: string | null;
  /** All of the result, where it was read whole. */
  readonly whole: Float32Array | null;
}

/** Compares a result with the reference. Results on a GPU may be large and are read in samples. */
export async function checkResult(
  program: Prepared,
  instance: Case,
  device: Device,
): Promise<Checked> {
  const { resultSize, reference, tolerance } = instance;
  const ranges = checkedRanges(resultSize);
  const whole = device === 'cpu' ? await program.result(null) : null;
  if (whole !== null && whole.length !== resultSize) {
    return { wrong: `${whole.length} elements, expected ${resultSize}`, whole };
  }
  const picked = whole === null ? await program.result(ranges) : pickRanges(whole, ranges);
  const expected = referenceValues(ranges, reference);
  return { wrong: mismatch(picked, expected, tolerance, 'the reference'), whole };
}

/** The first line of the message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.split('\n')[0]! : String(error);
}
