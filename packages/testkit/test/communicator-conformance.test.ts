/**
 * Communicators against the conformance suite: MPI, message ports, and one rank alone.
 */
import { soloCommunicator } from '@tessera/distributed';
import { describe, expect, it } from 'vitest';
import { COMMUNICATOR_CONFORMANCE_CASES, runCommunicatorConformance } from '../src/index.js';
import type { CommunicatorReport } from '../src/index.js';
import { hasMpi, suiteOverMpi, suiteOverPorts } from './communicators/run-ranks.js';

const LIMIT = { timeout: 180_000 };
const notRun = hasMpi ? '' : ' (NOT RUN: there is no mpirun on this machine)';

function expectAllPassed(reports: readonly CommunicatorReport[], ranks: number): void {
  expect(reports.flatMap(({ failed, rank }) => failed.map((one) => ({ rank, ...one })))).toEqual(
    [],
  );
  expect(reports.map(({ rank }) => rank).sort()).toEqual(
    Array.from({ length: ranks }, (_, rank) => rank),
  );
  for (const { passed, size } of reports) {
    expect(size).toBe(ranks);
    expect(passed).toHaveLength(COMMUNICATOR_CONFORMANCE_CASES.length);
  }
}

it('the group of one without MPI conforms', LIMIT, async () => {
  expectAllPassed([await runCommunicatorConformance(soloCommunicator())], 1);
});

it.each([1, 2, 3])('a third party over message ports conforms, %i ranks', LIMIT, async (n) => {
  expectAllPassed(await suiteOverPorts(n), n);
});

describe.skipIf(!hasMpi)(`over MPI${notRun}`, () => {
  it.each([1, 2, 3, 4, 5])('the communicator conforms, %i ranks', LIMIT, async (n) => {
    expectAllPassed(await suiteOverMpi(n), n);
  });
});

it('a communicator that is wrong is told where', LIMIT, async () => {
  const wrong = {
    ...soloCommunicator(),
    reduceScatter: () => ({ done: Promise.resolve(), waitSync: () => undefined }),
  };
  const { failed } = await runCommunicatorConformance(wrong);
  expect(failed.map(({ name }) => name)).toEqual(
    COMMUNICATOR_CONFORMANCE_CASES.filter(({ name }) => name.startsWith('reduceScatter')).map(
      ({ name }) => name,
    ),
  );
  expect(failed[0]!.error).toMatch(/^sum: element 0 of 37 is 0, expected -?\d$/);
});
