/**
 * @file The conformance suite that a communicator runs on itself.
 */
import type { Communicator } from '@tessera/distributed';
import type { CommunicatorCase } from './conformance-case.js';
import { MOVEMENT_CASES } from './movement-cases.js';
import { ORDER_CASES } from './order-cases.js';
import { REDUCTION_CASES } from './reduction-cases.js';

/** All cases, in order. */
export const COMMUNICATOR_CONFORMANCE_CASES: readonly CommunicatorCase[] = [
  ...REDUCTION_CASES,
  ...MOVEMENT_CASES,
  ...ORDER_CASES,
];

/** What became of the suite on this rank. */
export interface CommunicatorReport {
  readonly backend: string;
  readonly rank: number;
  readonly size: number;
  readonly passed: readonly string[];
  readonly failed: readonly { readonly name: string; readonly error: string }[];
}

/**
 * Runs the suite: every rank calls it, on its end of the communicator. What the ranks compute is compared with a
 * plain computation on each of them.
 *
 * @example
 * const { failed } = await runCommunicatorConformance(myCommunicator);
 */
export async function runCommunicatorConformance(
  communicator: Communicator,
): Promise<CommunicatorReport> {
  const { backend, rank, size } = communicator;
  const passed: string[] = [];
  const failed: { name: string; error: string }[] = [];
  for (const { name, run } of COMMUNICATOR_CONFORMANCE_CASES) {
    try {
      await run(communicator);
      passed.push(name);
    } catch (error) {
      failed.push({ name, error: error instanceof Error ? error.message : String(error) });
    }
  }
  return { backend, rank, size, passed, failed };
}
