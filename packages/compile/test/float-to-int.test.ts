/**
 * @file Floats that integers cannot hold become what PyTorch's CPU makes of them, eager and compiled.
 */
import { type DType, type Tensor, tensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const VALUES = [NaN, Infinity, -Infinity, 1e20, -1e20, 3e9, -3e9, 70000, -1.5, 300];
const LOW32 = -(2 ** 31);
const LOW64 = -(2 ** 63);
const EXPECTED: Readonly<Partial<Record<DType, readonly number[]>>> = {
  int64: [LOW64, LOW64, LOW64, LOW64, LOW64, 3e9, -3e9, 70000, -1, 300],
  int32: [LOW32, LOW32, LOW32, LOW32, LOW32, LOW32, LOW32, 70000, -1, 300],
  int16: [0, 0, 0, 0, 0, 0, 0, 4464, -1, 300],
  int8: [0, 0, 0, 0, 0, 0, 0, 112, -1, 44],
  uint8: [0, 0, 0, 0, 0, 0, 0, 112, 255, 44],
};

describe.each(['float32', 'float64'] as const)('%s', (from) => {
  it.each(Object.keys(EXPECTED) as DType[])('to %s', (to) => {
    const cast = (t: Tensor): Tensor => t.mul(1).to(to);
    const make = (): Tensor => tensor(VALUES, { dtype: from });
    const eager = config.patch({ 'eager.kernels': 'reference' }, () => cast(make()));
    expect([...readNumbers(eager)]).toEqual(EXPECTED[to]);
    expect([...readNumbers(compile(cast)(make()))]).toEqual(EXPECTED[to]);
  });
});
