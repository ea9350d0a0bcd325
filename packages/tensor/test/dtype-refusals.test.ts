/**
 * @file Dtypes that PyTorch has no kernel for are refused, with one code, before anything is computed.
 */
import { describe, expect, it } from 'vitest';
import * as api from '../src/index.js';
import * as internal from '../src/internal.js';

const T = { ...api, ...internal };
import { type DType, type Tensor, tensor } from '../src/index.js';

type Op = (x: Tensor) => unknown;

const INTEGERS: readonly DType[] = ['int64', 'int32', 'int16', 'int8', 'uint8'];

const FLOATS_ONLY: Readonly<Record<string, Op>> = {
  silu: (x) => x.silu(),
  gelu: (x) => x.gelu(),
  softplus: (x) => x.softplus(),
  elu: (x) => x.elu(),
  celu: (x) => x.celu(),
  selu: (x) => x.selu(),
  leakyRelu: (x) => x.leakyRelu(),
  hardsigmoid: (x) => x.hardsigmoid(),
  hardswish: (x) => x.hardswish(),
  mish: (x) => x.mish(),
  dropout: (x) => x.dropout({ p: 0.5, training: true }),
  layerNorm: (x) => T.layerNorm(x, [2]),
  'batchNorm in training': (x) => T.batchNorm(x, { training: true }),
  'batchNorm with statistics': (x) =>
    T.batchNorm(x, { runningMean: T.zeros([2]), runningVar: T.ones([2]) }),
  'batchNorm updating statistics': (x) =>
    T.batchNorm(x, { runningMean: T.zeros([2]), runningVar: T.ones([2]), training: true }),
  instanceNorm: (x) => T.instanceNorm(x.unsqueeze(0)),
  groupNorm: (x) => T.groupNorm(x, 1),
  lerp: (x) => T.lerp(x, x, 0.5),
  addcdiv: (x) => T.addcdiv(T.ones([2, 2]), x, x.add(1)),
  adaptiveMaxPool2d: (x) => T.adaptiveMaxPool2d(x.unsqueeze(0), [1, 1]),
  binaryCrossEntropy: (x) => T.binaryCrossEntropy(x, x),
  huberLoss: (x) => T.huberLoss(x, x),
  klDiv: (x) => T.klDiv(T.ones([2, 2]), x),
  smoothL1Loss: (x) => T.smoothL1Loss(x, x),
};

const NUMBERS_ONLY: Readonly<Record<string, Op>> = {
  neg: (x) => x.neg(),
  neg_: (x) => x.neg_(),
  abs: (x) => x.abs(),
  floor: (x) => x.floor(),
  ceil: (x) => x.ceil(),
  round: (x) => x.round(),
  trunc: (x) => x.trunc(),
  relu: (x) => x.relu(),
  hardtanh: (x) => x.hardtanh({ minVal: 0, maxVal: 1 }),
  'sub of a number': (x) => x.sub(1),
  'sub of bools': (x) => x.sub(x),
  'sub from a float': (x) => T.ones([2, 2]).sub(x),
  'remainder of bools': (x) => x.remainder(x.ge(0).to(x.dtype)),
  'fmod of bools': (x) => x.fmod(x.ge(0).to(x.dtype)),
  'floorDivide of bools': (x) => x.floorDivide(x.ge(0).to(x.dtype)),
  'pow of bools': (x) => x.pow(x),
  mm: (x) => x.mm(x),
  matmul: (x) => x.matmul(x),
  argmax: (x) => x.argmax(0),
  topk: (x) => x.topk(1, { dim: 0 }),
  trace: (x) => x.trace(),
  threshold: (x) => T.threshold(x, 0, 1),
  addcmul: (x) => x.addcmul(x, x),
  conv2d: (x) => T.conv2d(x.view([1, 1, 2, 2]), x.view([1, 1, 2, 2])),
  maxPool2d: (x) => T.maxPool2d(x.unsqueeze(0), 2),
};

const make = (dtype: DType): Tensor =>
  tensor(
    [
      [1, 0],
      [1, 1],
    ],
    { dtype },
  );
const refused = expect.objectContaining({ code: 'dtype-unsupported' }) as Error;

describe('refused dtypes', () => {
  for (const [name, op] of Object.entries(FLOATS_ONLY)) {
    it(`${name} takes floats`, () => {
      expect(() => op(make('float32'))).not.toThrow();
      for (const dtype of [...INTEGERS, 'bool' as const])
        expect(() => op(make(dtype)), dtype).toThrow(refused);
    });
  }

  for (const [name, op] of Object.entries(NUMBERS_ONLY)) {
    it(`${name} takes no bools`, () => {
      expect(() => op(make('bool'))).toThrow(refused);
      if (name !== 'sub from a float') expect(() => op(make('int32'))).not.toThrow();
    });
  }

  it('avgPool2d takes floats and int64', () => {
    for (const dtype of ['float32', 'float16', 'int64'] as const)
      expect(T.avgPool2d(make(dtype).unsqueeze(0), 2).item()).toBe(dtype === 'int64' ? 0 : 0.75);
    for (const dtype of ['int32', 'uint8', 'bool'] as const)
      expect(() => T.avgPool2d(make(dtype).unsqueeze(0), 2), dtype).toThrow(refused);
  });

  it('hardtanh takes unsigned numbers with limits that they have', () => {
    expect(make('uint8').hardtanh({ minVal: 0, maxVal: 1 }).toArray()).toEqual([
      [1, 0],
      [1, 1],
    ]);
    expect(() => make('uint8').hardtanh()).toThrow(refused);
  });

  it('whole numbers have no negative powers', () => {
    const error = expect.objectContaining({ code: 'invalid-argument' }) as Error;
    expect(() => make('int64').pow(-1)).toThrow(error);
    expect(make('float64').pow(-1).toArray()).toEqual([
      [1, Infinity],
      [1, 1],
    ]);
  });

  it('powers of int64 wrap, and a mask is an exponent with a gradient for the base', () => {
    const big = tensor([7], { dtype: 'int64' }).pow(100);
    expect(T.readNumbers(big)).toEqual(Float64Array.of(Number(BigInt.asIntN(64, 7n ** 100n))));
    const x = tensor([2, 3]).requiresGrad_();
    x.pow(tensor([1, 0], { dtype: 'bool' }))
      .sum()
      .backward();
    expect(x.grad!.toArray()).toEqual([1, 0]);
  });

  it('losses compute in the type of their input, which targets and weights have too', () => {
    const p = tensor([0.5, 0.2, 0.9]);
    const labels = tensor([1, 0, 1]);
    for (const dtype of ['int64', 'bool', 'float64'] as const)
      expect(() => T.binaryCrossEntropy(p, labels.to(dtype))).toThrow(
        `Found dtype ${dtype} but expected float32`,
      );
    expect(T.binaryCrossEntropy(p, labels, { weight: labels.to('int64') }).dtype).toBe('float32');
    expect(() => T.binaryCrossEntropyWithLogits(p, labels.to('int64'))).toThrow(
      "result type float32 can't be cast to the desired output type int64",
    );
    expect(() => T.binaryCrossEntropyWithLogits(p, labels.to('bool'))).toThrow(
      /with two bool tensors is not supported/,
    );
    const whole = labels.to('int64');
    expect(() => T.mseLoss(whole, whole, { reduction: 'none' })).toThrow(
      `"mse_loss" not implemented for 'int64'`,
    );
    expect(() =>
      T.nllLoss(tensor([[-1, -2]]), tensor([1]).to('int64'), {
        weight: tensor([1, 2]).to('float64'),
      }),
    ).toThrow('expected scalar type float32 but found float64 for the weight');
  });
});
