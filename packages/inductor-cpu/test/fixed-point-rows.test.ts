/** @file One row times weights of 8 and 4 bits: how exact sums of each kind of code are, and the code for integers. */
import { describe, expect, it } from 'vitest';
import type { CodeOptions } from '../src/body/vector-builder.js';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { both, type Case, kernelOf, machines, numbers, ROUNDED, weights } from './gemv-kernel.js';

describe('products of one row with packed weights', () => {
  describe.each(['int8', 'int8s', 'int4'] as const)('of %s', (format) => {
    const groups = format === 'int8' ? [32, 64, 128] : [32, 64, 128, 256];
    const of = (depth: number, group: number): Case => {
      const made = { format, columns: 37, depth, plain: true };
      return format === 'int8' ? made : { ...made, group };
    };
    /** Values of all sizes from 2^-30 of the largest on. */
    const spread = (values: Map<string, number[]>): void => {
      const [x, sizes] = [values.get('x')!, numbers(4096, 'float32', 77)];
      x.forEach((value, k) => {
        x[k] = Math.fround((value + 1 / 3) * 2 ** (15 * (sizes[k]! - 1)));
      });
    };
    /** The sums in float64, each with the sum of absolute products of each group's largest value. */
    const sums = (made: Case, values: Map<string, number[]>): [number, number][] => {
      const { columns, depth, group = 128 } = made;
      const [x, w, s] = [values.get('x')!, values.get(weights(format, 0))!, values.get('s0')!];
      return Array.from({ length: columns }, (_, n) => {
        let [sum, size] = [0, 0];
        for (let k = 0; k < depth; k++) {
          const perWord = format === 'int4' ? 8 : 4;
          const word = w[Math.floor((n * depth + k) / perWord)]!;
          const g = Math.floor(k / group);
          let value = (word << (24 - 8 * (k % 4))) >> 24;
          if (format === 'int4') {
            const at = 2 * (g * columns + n);
            value = (((word >> (4 * (k % 8))) & 15) - 8) * s[at]! + s[at + 1]!;
          } else if (format === 'int8s') value *= s[g * columns + n]!;
          const near = x.slice(k - (k % group), k - (k % group) + group);
          sum += x[k]! * value;
          size += Math.max(...near.map(Math.abs)) * Math.abs(value);
        }
        return [sum, size];
      });
    };
    const keep = (values: Map<string, number[]>): void => {
      spread(values);
      values.get('out')!.fill(0);
    };
    const errors = (made: Case, options: readonly CodeOptions[]): number[] => {
      let exact: [number, number][] = [];
      const runs = both(
        made,
        2,
        (values) => {
          keep(values);
          exact = sums(made, values);
        },
        options,
      );
      return runs.map(({ got }) =>
        Math.max(...exact.map(([sum, size], n) => Math.abs(got[n]! - Math.max(sum, 0)) / size)),
      );
    };

    it.each(groups)('is as exact as float32 against float64, in groups of %i', (group) => {
      for (const error of errors(of(512, group), machines)) expect(error).toBeLessThan(2 ** -23);
    });

    it.each(groups)('rounds to 2^-15 of the largest of %i with rowBits 16', (group) => {
      const [error] = errors(of(512, group), [ROUNDED]);
      expect(error).toBeLessThan(2 ** -15);
    });

    it('rounds no finer than float32, nor than its smallest normal number', () => {
      for (const size of [2 ** -126, 2 ** -110, 2 ** -99, 2 ** 110])
        for (const { got, wanted } of both(of(64, 32), 1, (values) => {
          const x = values.get('x')!;
          x.forEach((value, k) => (x[k] = Math.fround(value * size)));
          values.get('out')!.fill(0);
        }))
          got.forEach((value, n) => {
            const ofEach = size * 2 ** -22 + 2 ** -127;
            expect(Math.abs(value - wanted[n]!)).toBeLessThan(64 * 128 * ofEach);
          });
    });

    it.each([Infinity, -Infinity, NaN])('gives what floats give for a row with %s', (special) => {
      for (const columns of [11, 70])
        for (const { got, wanted } of both(
          { ...of(64, 32), columns },
          1,
          (values) => {
            values.get('x')![40] = special;
          },
          [...machines, ROUNDED],
        )) {
          expect(wanted.some(Number.isFinite)).toBe(!Number.isNaN(special));
          got.forEach((value, n) => {
            const other = wanted[n]!;
            if (Number.isFinite(other)) expect(value).toBeCloseTo(other, 3);
            else expect(value).toBe(other);
          });
        }
    });
  });

  it.each(['int8', 'int4'] as const)('has the code of %s that is recorded', async (format) => {
    const kernel = kernelOf({ format, columns: 64, depth: 64, plain: true });
    const { func } = generateLoopKernel(kernel, { relaxedSimd: false, pairProducts: true });
    const text = printFunctionWithDependencies(func);
    const sums = text.slice(text.indexOf('(func $gemv_sums0_apart'));
    await expect(`${sums.slice(0, sums.indexOf('\n)\n') + 3)}`).toMatchFileSnapshot(
      `./golden/row_times_${format}.wat`,
    );
  });
});
