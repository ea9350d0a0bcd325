/**
 * @file Elements for tests of code that orders or compares them: many ties and, of floats, all that is special.
 */
import { type DType, DTYPES, type Tensor, fromTypedArray } from '@tessera/tensor';

const SPECIAL = [Number.NaN, Infinity, -Infinity, 0, -0, 1.7976931348623157e308, 5e-324];

/** All dtypes. */
export const ALL = Object.keys(DTYPES) as DType[];

/** See the file header; `special` is the share of what is special. */
export function numbersOf(dtype: DType, sizes: readonly number[], seed = 1, special = 0.1): Tensor {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const isFloat = dtype.includes('float');
  const count = sizes.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: count }, () => {
    const kind = random();
    if (isFloat && kind < special) return SPECIAL[Math.floor(random() * SPECIAL.length)]!;
    if (kind < 0.4) return Math.floor(random() * 9) - (dtype === 'uint8' ? 0 : 4);
    if (isFloat) return (random() - 0.5) * 10 ** (random() * 9 - 4);
    return Math.floor((random() - 0.5) * (dtype === 'int64' ? 2 ** 52 : 2 ** 31));
  });
  return fromTypedArray(values, sizes).to(dtype);
}

/** What a tensor's elements are, with the sign of zeros. */
export function shown(x: Tensor): string[] {
  const values = x.contiguous().reshape([-1]).tolist() as (number | bigint)[];
  return values.map((value) => (Object.is(value, -0) ? '-0' : String(value)));
}
