/**
 * @file Gradients of variances that have no degrees of freedom left: PyTorch's, on both devices, and at sizes as symbols.
 */
import { type Tensor, arange, tensor } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { compile, initWebGpu } from '../src/index.js';

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

interface Case {
  readonly values: number[] | number[][];
  readonly dim: number | null;
  readonly correction: number;
  readonly slope: number | number[];
  readonly gradient: number[] | number[][];
}

/** What PyTorch 2.13 gives. */
const CASES: Case[] = [
  { values: [1, 2], dim: null, correction: 3, slope: 1, gradient: [inf, inf] },
  { values: [1], dim: null, correction: 1, slope: 1, gradient: [nan] },
  { values: [1, 2], dim: null, correction: 2, slope: 1, gradient: [inf, inf] },
  { values: [2, 2], dim: null, correction: 2, slope: 1, gradient: [nan, nan] },
  { values: [1, 2, 3], dim: null, correction: 3, slope: 1, gradient: [inf, nan, inf] },
  { values: [[1], [2]], dim: 1, correction: 1, slope: [-1, 0], gradient: [[nan], [nan]] },
  {
    values: [
      [1, 3],
      [2, 2],
    ],
    dim: 1,
    correction: 3,
    slope: [-1, 0],
    gradient: [
      [-2, 2],
      [-0, -0],
    ],
  },
];

describe.each(['cpu', 'wgpu'] as const)('on %s', (device) => {
  const skipped = device === 'wgpu' && !wantsGpu;
  beforeAll(async () => {
    if (device === 'wgpu' && !skipped) await initWebGpu();
  });

  it.skipIf(skipped).each(CASES)(
    '$values over $dim less $correction',
    async ({ values, dim, correction, slope, gradient }) => {
      const fn = (x: Tensor): Tensor => x.variance(dim, { correction });
      for (const call of [fn, compile(fn)]) {
        const x = tensor(values, { device, requiresGrad: true });
        call(x).backward(tensor(slope, { device }));
        expect(await x.grad!.toArray()).toEqual(gradient);
      }
    },
  );
});

describe.each(['aot_eager', 'inductor'] as const)('%s, for all sizes', (backend) => {
  it.each([null, 0])('over %s', (dim) => {
    const fn = (x: Tensor): Tensor => x.mul(2).variance(dim, { correction: 3 });
    const compiled = compile(fn, { backend, dynamic: true });
    const play = (call: typeof fn, n: number): unknown => {
      const x = arange(n).to('float32').requiresGrad_();
      const result = call(x);
      result.backward();
      return [result.item(), x.grad!.toArray()];
    };
    for (const n of [5, 6, 7, 3, 2, 1, 4, 8]) expect(play(compiled, n)).toEqual(play(fn, n));
  });
});
