/** @file Sums of products and a bias in 16-bit floats are rounded once, as PyTorch's: to the number next to the exact sum. */
import { type Tensor, addmm, arange, baddbmm } from '@tessera/tensor';
import { functional as F } from '@tessera/nn';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const SUMS: Readonly<Record<string, (x: Tensor, w: Tensor, bias: Tensor) => Tensor>> = {
  addmm: (x, w, bias) => addmm(bias, x, w.t()),
  baddbmm: (x, w, bias) => baddbmm(bias, x.unsqueeze(0), w.t().unsqueeze(0)),
  linear: (x, w, bias) => F.linear(x, w, bias),
  'linear of a batch': (x, w, bias) => F.linear(x.view([1, ...x.sizes]), w, bias),
  convolution: (x, w, bias) =>
    F.conv1d(x.view([2, 4, 16]), w.view([8, 4, 4]), { bias, padding: 1 }),
  'transposed convolution': (x, w, bias) =>
    F.convTranspose1d(x.view([2, 4, 16]), w.view([4, 8, 4]), { bias, stride: 2 }),
};

describe.each(['float16', 'bfloat16'] as const)('%s', (dtype) => {
  const made = (sizes: number[], scale: number): Tensor => {
    const count = sizes.reduce((a, b) => a * b, 1);
    return arange(0, count).mul(scale).sin().reshape(sizes).to(dtype);
  };
  const args: [Tensor, Tensor, Tensor] = [
    made([8, 16], 0.37),
    made([8, 16], 1.9),
    made([8], 0.7).mul(3),
  ];

  it.each(Object.entries(SUMS))('%s', (_, fn) => {
    const [x, w, bias] = args.map((value) => value.to('float64')) as typeof args;
    const exact = fn(x, w, bias).to(dtype).toArray();
    expect(fn(...args).toArray()).toEqual(exact);
    expect(compile(fn)(...args).toArray()).toEqual(exact);
  });
});
