/**
 * @file A group of two ranks that hold the same, so that every reduction follows from this rank's own values.
 */
import {
  type Communicator,
  type Pending,
  ProcessGroup,
  registerGroup,
  soloCommunicator,
} from '@tessera/distributed';

/** The group, and how often gradients were reduced over it. */
export function twoEqualRanks(): {
  readonly group: ProcessGroup;
  readonly reductions: () => number;
} {
  let reductions = 0;
  const done: Pending = { done: Promise.resolve(), waitSync: () => undefined };
  const communicator: Communicator = {
    ...soloCommunicator(),
    size: 2,
    allReduce(buffer) {
      reductions++;
      const bytes = buffer.view();
      const values = new Float32Array(bytes.buffer, bytes.byteOffset, buffer.length);
      for (let i = 0; i < values.length; i++) values[i]! *= 2;
      return done;
    },
    allGather(input, output) {
      for (const rank of [0, 1]) output.view().set(input.view(), rank * input.byteLength);
      return done;
    },
  };
  const group = registerGroup(new ProcessGroup('two equal ranks', [0, 1], communicator));
  return { group, reductions: () => reductions };
}
