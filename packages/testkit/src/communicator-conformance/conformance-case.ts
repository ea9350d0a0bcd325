/**
 * @file A case of the conformance suite for communicators, and how it compares.
 */
import type { Communicator, HostBuffer } from '@tessera/distributed';
import { valuesOf } from './elements.js';

/** See the file header. Every rank runs the same cases in the same order. */
export interface CommunicatorCase {
  /** `collective: what it shows`. */
  readonly name: string;
  /** Throws what is wrong; a rank that throws has made all the calls that the others wait for. */
  readonly run: (communicator: Communicator) => Promise<void>;
}

/** The ranks of a communicator. */
export function ranksOf({ size }: Communicator): number[] {
  return Array.from({ length: size }, (_, rank) => rank);
}

/** @throws where a buffer does not hold these values */
export function expectValues(what: string, buffer: HostBuffer, expected: readonly number[]): void {
  const found = valuesOf(buffer);
  if (found.length !== expected.length)
    throw new Error(`${what}: ${found.length} elements, expected ${expected.length}`);
  const wrong = found.findIndex((value, i) => !Object.is(value + 0, expected[i]! + 0));
  if (wrong >= 0)
    throw new Error(
      `${what}: element ${wrong} of ${found.length} is ${found[wrong]}, expected ${expected[wrong]}`,
    );
}
