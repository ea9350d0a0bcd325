/**
 * @file Collectives and messages that move elements without changing them.
 */
import type { Communicator } from '@tessera/distributed';
import { type CommunicatorCase, expectValues, ranksOf } from './conformance-case.js';
import { ALL_DTYPES, bufferOf, sample, zeroBuffer } from './elements.js';

const LENGTH = 29;

const perDType = ALL_DTYPES.flatMap((dtype): CommunicatorCase[] => [
  {
    name: `broadcast: ${dtype}, from every root`,
    run: async (communicator) => {
      const results = [];
      for (const root of ranksOf(communicator)) {
        const buffer = bufferOf(dtype, sample(dtype, LENGTH, communicator.rank));
        await communicator.broadcast(buffer, root).done;
        results.push({ root, buffer });
      }
      for (const { root, buffer } of results)
        expectValues(`from ${root}`, buffer, sample(dtype, LENGTH, root));
    },
  },
  {
    name: `allGather: ${dtype}`,
    run: async (communicator) => {
      const input = bufferOf(dtype, sample(dtype, LENGTH, communicator.rank));
      const output = zeroBuffer(dtype, LENGTH * communicator.size);
      await communicator.allGather(input, output).done;
      const expected = ranksOf(communicator).flatMap((rank) => sample(dtype, LENGTH, rank));
      expectValues('the output', output, expected);
      expectValues('the input', input, sample(dtype, LENGTH, communicator.rank));
    },
  },
  { name: `allToAll: ${dtype}`, run: (communicator) => allToAll(communicator, dtype, () => 5) },
]);

/** Rank r sends `count(r, to)` elements to rank `to`. */
async function allToAll(
  communicator: Communicator,
  dtype: (typeof ALL_DTYPES)[number],
  count: (from: number, to: number) => number,
): Promise<void> {
  const { rank } = communicator;
  const ranks = ranksOf(communicator);
  const part = (from: number, to: number): number[] =>
    sample(dtype, count(from, to), 7 * from + to);
  const input = bufferOf(
    dtype,
    ranks.flatMap((to) => part(rank, to)),
  );
  const expected = ranks.flatMap((from) => part(from, rank));
  const output = zeroBuffer(dtype, expected.length);
  const sends = ranks.map((to) => count(rank, to));
  const receives = ranks.map((from) => count(from, rank));
  await communicator.allToAll(input, output, sends, receives).done;
  expectValues('the output', output, expected);
}

/** See the file header. */
export const MOVEMENT_CASES: readonly CommunicatorCase[] = [
  ...perDType,
  {
    name: 'allToAll: other counts for every pair, some of them 0',
    run: (communicator) => allToAll(communicator, 'float32', (from, to) => (2 * from + 3 * to) % 5),
  },
  {
    name: 'empty buffers',
    run: async (communicator) => {
      const { size } = communicator;
      const empty = zeroBuffer('float32', 0);
      const zeros = ranksOf(communicator).map(() => 0);
      await communicator.allReduce(empty, 'sum').done;
      await communicator.reduce(empty, 'max', size - 1).done;
      await communicator.broadcast(empty, 0).done;
      await communicator.allGather(empty, empty).done;
      await communicator.reduceScatter(empty, empty, 'sum').done;
      await communicator.allToAll(empty, empty, zeros, zeros).done;
      await communicator.barrier().done;
    },
  },
  {
    name: 'messages: around a ring, both ways, received in another order than sent',
    run: async (communicator) => {
      const { rank, size } = communicator;
      if (size === 1) return;
      const right = (rank + 1) % size;
      const left = (rank + size - 1) % size;
      const message = (from: number, tag: number): number[] => [from, tag, 10 * from + tag];
      const tags = [3, 1, 2];
      const sends = tags.flatMap((tag) => [
        communicator.send(bufferOf('float64', message(rank, tag)), right, tag),
        communicator.send(bufferOf('float64', message(rank, tag + 10)), left, tag + 10),
      ]);
      const received = [1, 2, 3].flatMap((tag) => [
        { from: left, tag, buffer: zeroBuffer('float64', 3) },
        { from: right, tag: tag + 10, buffer: zeroBuffer('float64', 3) },
      ]);
      const receives = received.map(({ from, tag, buffer }) =>
        communicator.receive(buffer, from, tag),
      );
      for (const { done } of [...receives, ...sends]) await done;
      for (const { from, tag, buffer } of received)
        expectValues(`tag ${tag} from ${from}`, buffer, message(from, tag));
    },
  },
  {
    name: 'messages: beside a collective that was begun before',
    run: async (communicator) => {
      const { rank, size } = communicator;
      if (size === 1) return;
      const sum = bufferOf('int32', [1]);
      // Rank 0 joins only after rank 1 has its message.
      const early = rank === 0 ? null : communicator.allReduce(sum, 'sum');
      const note = bufferOf('int32', [rank === 0 ? 7 : 0]);
      if (rank === 0) await communicator.send(note, 1, 0).done;
      if (rank === 1) await communicator.receive(note, 0, 0).done;
      await (early ?? communicator.allReduce(sum, 'sum')).done;
      if (rank < 2) expectValues('the message', note, [7]);
      expectValues('the sum', sum, [size]);
    },
  },
];
