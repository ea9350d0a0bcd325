/**
 * @file Conversions between all dtypes, in vectors and in what is left of a row, against the reference kernels.
 */
import { type DType, DTYPES, type Tensor, arange } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { config } from '../src/index.js';

const ALL = Object.keys(DTYPES) as DType[];

/** Elements that all dtypes hold, but for signs. */
function elements(dtype: DType, length: number): Tensor {
  const signed = dtype !== 'bool' && dtype !== 'uint8';
  return arange(length)
    .remainder(5)
    .sub(signed ? 2 : 0)
    .to(dtype);
}

/** What converts, by itself and behind an operator whose result is of another dtype than its operands. */
const WAYS: readonly ((x: Tensor, to: DType) => Tensor)[] = [
  (x, to) => x.to(to),
  (x, to) => x.gt(0).to(to),
  (x, to) => x.to('bool').to(to),
];

describe('conversion to', () => {
  it.each(ALL)('%s', (to) => {
    for (const from of ALL)
      for (const length of [1, 7, 16, 17, 35, 64])
        for (const [i, way] of WAYS.entries()) {
          const x = elements(from, length);
          const want = config.patch(
            { 'cpu.kernels': 'reference', 'eager.kernels': 'reference' },
            () => way(x, to).toArray(),
          );
          expect(way(x, to).toArray(), `from ${from}, ${length} elements, way ${i}`).toEqual(want);
        }
  });
});
