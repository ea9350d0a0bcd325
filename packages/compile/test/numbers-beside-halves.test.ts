/**
 * @file Numbers beside 16-bit floats keep their digits in products and quotients, as in PyTorch; gradients of parts.
 *
 * Eager operators run here as compiled kernels, which take numbers at run time. Values are PyTorch 2.13's.
 */
import {
  type Tensor,
  addcdiv,
  addcmul,
  callOp,
  getOp,
  leakyRelu,
  lerp,
  ones,
  tensor,
  xlogy,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const VALUES = {
  float16: {
    mul: [-1.7001953125, -3.40625, 5.26953125, -170.375],
    div: [-0.58837890625, -1.1787109375, 1.8232421875, -58.96875],
    addcmul: [1.509765625, 3.125, -1.416015625, 100.375],
    addcdiv: [1.056640625, 2.107421875, -2.912109375, 100.25],
    lerp: [7.80078125, -0.2008056640625, -3.26953125, 255.375],
    leakyRelu: [1, 2.00390625, 5.26953125, 100.25],
  },
  bfloat16: {
    mul: [-1.703125, -3.40625, 5.25, -170],
    div: [-0.58984375, -1.1796875, 1.8203125, -58.75],
    addcmul: [1.5078125, 3.125, -1.4140625, 100],
    addcdiv: [1.0546875, 2.109375, -2.90625, 100],
    lerp: [7.8125, -0.205078125, -3.25, 255],
    leakyRelu: [1, 2, 5.25, 100],
  },
} as const;

describe.each(['float16', 'bfloat16'] as const)('a number beside %s', (dtype) => {
  const of = (...values: number[]): Tensor => tensor(values).to(dtype);
  const [x, y, z] = [of(1, 2.003, -3.1, 100.25), of(0.1, -0.2, 0.33, -0.01), of(-3, 3.3, -3, 9)];
  const OPERATORS: Readonly<Record<keyof (typeof VALUES)['float16'], (k: number) => Tensor>> = {
    mul: (k) => x.mul(k),
    div: (k) => x.div(k),
    addcmul: (k) => addcmul(x, y, z, { value: k }),
    addcdiv: (k) => addcdiv(x, y, z, { value: k }),
    lerp: (k) => lerp(x, z, k),
    leakyRelu: (k) => leakyRelu(x, { negativeSlope: k }),
  };
  it.each(Object.entries(OPERATORS))('is not rounded by %s', (name, operator) => {
    const expected = VALUES[dtype][name as 'mul'];
    const run = (): unknown => operator(-1.7).to('float32').toArray();
    // Numbers that change become inputs of the kernel.
    operator(2.5);
    operator(0.3);
    expect(run()).toEqual(expected);
    expect(compile(operator)(-1.7).to('float32').toArray()).toEqual(expected);
    config.patch({ 'inductor.emulatePrecisionCasts': true }, () =>
      expect(
        compile((k: number) => operator(k))(-1.7)
          .to('float32')
          .toArray(),
      ).toEqual(expected),
    );
  });
});

const BESIDE_SCALARS = {
  float16: {
    mul: [-1.7001953125, -3.40625, 5.26953125, -170.375],
    div: [-0.58837890625, -1.1787109375, 1.8232421875, -58.96875],
    floorDivide: [-1, -2, 1, -59],
    truncated: [-0, -1, 1, -58],
    sub: [2.69921875, 3.703125, -1.3994140625, 101.9375],
    remainder: [-0.7001953125, -1.396484375, -1.3994140625, -0.0615234375],
  },
  bfloat16: {
    mul: [-1.703125, -3.40625, 5.25, -170],
    div: [-0.58984375, -1.1796875, 1.8203125, -58.75],
    floorDivide: [-1, -2, 1, -59],
    truncated: [-0, -1, 1, -58],
    sub: [2.703125, 3.703125, -1.390625, 101.5],
    remainder: [-0.703125, -1.40625, -1.390625, -0.484375],
  },
} as const;

describe.each(['float16', 'bfloat16'] as const)(
  'a tensor without dimensions beside %s',
  (dtype) => {
    const OPERATORS: Readonly<
      Record<keyof (typeof BESIDE_SCALARS)['float16'], (x: Tensor, by: Tensor) => Tensor>
    > = {
      mul: (x, by) => x.mul(by),
      div: (x, by) => x.div(by),
      floorDivide: (x, by) => x.floorDivide(by),
      truncated: (x, by) => x.div(by, { roundingMode: 'trunc' }),
      sub: (x, by) => x.sub(by),
      remainder: (x, by) => x.remainder(by),
    };
    const x = tensor([1, 2.003, -3.1, 100.25]).to(dtype);
    it.each(Object.entries(OPERATORS))(
      'keeps its digits as a factor only: %s',
      (name, operator) => {
        const expected = BESIDE_SCALARS[dtype][name as 'mul'];
        for (const type of ['float64', 'float32'] as const) {
          const by = tensor(-1.7001, { dtype: type });
          const run = (): unknown => operator(x, by).to('float32').toArray();
          expect(run()).toEqual(expected);
          config.patch({ 'eager.kernels': 'reference' }, () => expect(run()).toEqual(expected));
          for (const backend of ['aot_eager', 'inductor'] as const)
            expect(compile(operator, { backend })(x, by).to('float32').toArray()).toEqual(expected);
        }
      },
    );
  },
);

describe.each([
  ['float16', [-0.361328125, -0.2496337890625, 3.80859375, -4.77734375, 0, 5.97265625]] as const,
  ['bfloat16', [-0.361328125, -0.25, 3.796875, -4.78125, 0, 5.96875]] as const,
])('xlogy of %s', (dtype, expected) => {
  it('rounds the logarithm before it multiplies', () => {
    const x = tensor([0.3, 0.7, 2.7, 1.1, 0, 5]).to(dtype);
    const y = tensor([0.3, 0.7, 4.1, 0.013, -1, 3.3]).to(dtype);
    const run = (): unknown => xlogy(x, y).to('float32').toArray();
    expect(run()).toEqual(expected);
    config.patch({ 'eager.kernels': 'reference' }, () => expect(run()).toEqual(expected));
    config.patch({ 'inductor.emulatePrecisionCasts': true }, () =>
      expect(compile(xlogy)(x, y).to('float32').toArray()).toEqual(expected),
    );
  });
});

describe('a gradient of a part of a tensor', () => {
  const call = (name: string, ...args: unknown[]): unknown =>
    (callOp(getOp(`aten::${name}`), args) as Tensor).toArray();

  it('is broadcast to the part', () => {
    expect(call('select_backward', tensor(1), [2, 3], -1, 1)).toEqual([
      [0, 1, 0],
      [0, 1, 0],
    ]);
    expect(call('diagonal_backward', tensor(1), [2, 3], 1, 0, 1)).toEqual([
      [0, 1, 0],
      [0, 0, 1],
    ]);
    expect(call('diagonal_backward', ones([1]), [2, 3], 1, 0, 1)).toEqual([
      [0, 1, 0],
      [0, 0, 1],
    ]);
  });

  it('is refused where it does not fit', () => {
    expect(() => call('select_backward', ones([4]), [2, 3], -1, 1)).toThrow('must match');
    expect(() => call('slice_backward', ones([1]), [2, 5], 1, 1, 5, 2)).toThrow('same shape');
    expect(() => call('_adaptive_avg_pool2d_backward', tensor(1), ones([1, 3, 4, 4]))).toThrow(
      'same shape',
    );
  });
});
