/**
 * @file allReduce, reduce and reduceScatter of every dtype with every reduction.
 */
import { isFloatingPoint } from '@tessera/tensor';
import { type CommunicatorCase, expectValues, ranksOf } from './conformance-case.js';
import {
  ALL_DTYPES,
  bufferOf,
  reduced,
  reductionsOf,
  sample,
  valuesOf,
  zeroBuffer,
} from './elements.js';

const LENGTH = 37;

const perDType = ALL_DTYPES.flatMap((dtype): CommunicatorCase[] => [
  {
    name: `allReduce: ${dtype}`,
    run: async (communicator) => {
      const results = [];
      for (const op of reductionsOf(dtype)) {
        const buffer = bufferOf(dtype, sample(dtype, LENGTH, communicator.rank));
        await communicator.allReduce(buffer, op).done;
        results.push({ op, buffer });
      }
      const lists = ranksOf(communicator).map((rank) => sample(dtype, LENGTH, rank));
      for (const { op, buffer } of results) expectValues(op, buffer, reduced(dtype, op, lists));
    },
  },
  {
    name: `reduce: ${dtype}, to every root`,
    run: async (communicator) => {
      const own = sample(dtype, LENGTH, communicator.rank);
      const results = [];
      for (const root of ranksOf(communicator)) {
        const op = reductionsOf(dtype)[root % reductionsOf(dtype).length]!;
        const buffer = bufferOf(dtype, own);
        await communicator.reduce(buffer, op, root).done;
        results.push({ root, op, buffer });
      }
      const lists = ranksOf(communicator).map((rank) => sample(dtype, LENGTH, rank));
      for (const { root, op, buffer } of results)
        expectValues(
          `${op} to ${root}`,
          buffer,
          root === communicator.rank ? reduced(dtype, op, lists) : own,
        );
    },
  },
  {
    name: `reduceScatter: ${dtype}`,
    run: async (communicator) => {
      const { size, rank } = communicator;
      const results = [];
      for (const op of reductionsOf(dtype)) {
        const input = bufferOf(dtype, sample(dtype, LENGTH * size, rank));
        const output = zeroBuffer(dtype, LENGTH);
        await communicator.reduceScatter(input, output, op).done;
        results.push({ op, input, output });
      }
      const lists = ranksOf(communicator).map((other) => sample(dtype, LENGTH * size, other));
      for (const { op, input, output } of results) {
        const whole = reduced(dtype, op, lists);
        expectValues(op, output, whole.slice(rank * LENGTH, (rank + 1) * LENGTH));
        expectValues(`the input of ${op}`, input, lists[rank]!);
      }
    },
  },
]);

/** See the file header. */
export const REDUCTION_CASES: readonly CommunicatorCase[] = [
  ...perDType,
  {
    name: 'allReduce: of 0, 1, 2, 3 and more elements than ranks',
    run: async (communicator) => {
      const results = [];
      for (const length of [0, 1, 2, 3, 8, 1023, 20_011]) {
        const buffer = bufferOf('int32', sample('int32', length, communicator.rank));
        await communicator.allReduce(buffer, 'sum').done;
        results.push({ length, buffer });
      }
      for (const { length, buffer } of results) {
        const lists = ranksOf(communicator).map((rank) => sample('int32', length, rank));
        expectValues(`${length} elements`, buffer, reduced('int32', 'sum', lists));
      }
    },
  },
  {
    name: 'allReduce: min and max are NaN where one rank has it',
    run: async (communicator) => {
      const { rank } = communicator;
      const results = [];
      for (const dtype of ALL_DTYPES.filter(isFloatingPoint))
        for (const op of ['min', 'max'] as const) {
          const own = ranksOf(communicator).map((other) => (other === rank ? NaN : rank));
          const buffer = bufferOf(dtype, own);
          await communicator.allReduce(buffer, op).done;
          results.push({ what: `${op} of ${dtype}`, buffer });
        }
      const nan = ranksOf(communicator).map(() => NaN);
      for (const { what, buffer } of results) expectValues(what, buffer, nan);
    },
  },
  {
    name: 'allReduce: the same bits on every rank',
    run: async (communicator) => {
      const { rank, size } = communicator;
      // Sums that depend on the order of the additions.
      const values = Array.from(
        { length: 5000 },
        (_, i) => Math.sin(i + 100 * rank) * 10 ** (i % 5),
      );
      const sum = bufferOf('float32', values);
      await communicator.allReduce(sum, 'sum').done;
      const all = zeroBuffer('float32', values.length * size);
      await communicator.allGather(sum, all).done;
      const own = valuesOf(sum);
      for (const other of ranksOf(communicator)) {
        const theirs = bufferOf(
          'float32',
          valuesOf(all).slice(other * own.length, (other + 1) * own.length),
        );
        expectValues(`rank ${other}`, theirs, own);
      }
    },
  },
  {
    name: 'allReduce: 2 MiB',
    run: async (communicator) => {
      const { rank, size } = communicator;
      const buffer = zeroBuffer('float32', 1 << 19);
      new Float32Array(buffer.view().buffer).fill(rank + 1);
      await communicator.allReduce(buffer, 'sum').done;
      const expected = (size * (size + 1)) / 2;
      const found = new Float32Array(buffer.view().buffer);
      const wrong = found.findIndex((value) => value !== expected);
      if (wrong >= 0) throw new Error(`element ${wrong} is ${found[wrong]}, expected ${expected}`);
    },
  },
];
