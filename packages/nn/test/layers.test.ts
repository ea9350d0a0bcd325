import { describe, expect, it } from 'vitest';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, manualSeed, ones, tensor, zeros } from '@tessera/tensor';
import {
  AdaptiveAvgPool2d,
  AvgPool2d,
  BatchNorm1d,
  BatchNorm2d,
  Conv1d,
  Conv2d,
  Dropout,
  Embedding,
  GroupNorm,
  LeakyReLU,
  MaxPool2d,
  type Module,
  type TensorModule,
  functional,
} from '../src/index.js';
import * as nn from '../src/index.js';
import { type LayerCase, expectRecorded, reference, restore } from './reference.js';
import { thrownBy } from './thrown-by.js';

type Constructor = new (...args: unknown[]) => Module;

function check(recorded: LayerCase): void {
  const module = new (nn as unknown as Record<string, Constructor>)[recorded.kind]!(
    ...recorded.args,
  );
  module.train(recorded.train);
  module.loadStateDict(
    Object.fromEntries(
      Object.entries(recorded.state).map(([name, value]) => [name, restore(value)]),
    ),
  );
  const inputs = recorded.inputs.map(restore);
  recorded.inputGrads.forEach((grad, i) => grad !== null && inputs[i]!.requiresGrad_());
  const output = (module.call as (...args: Tensor[]) => unknown).apply(module, inputs) as Tensor;
  expectRecorded(output, recorded.output, 'output');
  if (output.requiresGrad) output.backward(restore(recorded.cotangent));
  recorded.inputGrads.forEach(
    (grad, i) =>
      grad !== null &&
      expectRecorded(inputs[i]!.grad!, grad, `gradient of input ${i}`, 1.3e-6, 2e-5),
  );
  const parameters = new Map(module.namedParameters());
  for (const [name, grad] of Object.entries(recorded.grads))
    expectRecorded(parameters.get(name)!.grad!, grad, `gradient of ${name}`, 1.3e-6, 2e-5);
  const buffers = new Map(module.namedBuffers());
  for (const [name, buffer] of Object.entries(recorded.buffers))
    expectRecorded(buffers.get(name)!, buffer, name);
}

describe("layers: output, gradients and buffers are PyTorch's", () => {
  it.each(
    reference.layers.map(
      (recorded) =>
        [
          `${recorded.kind}(${JSON.stringify(recorded.args).slice(1, -1)})${recorded.train ? '' : ' in evaluation'}`,
          recorded,
        ] as const,
    ),
  )('%s', (_, recorded) => check(recorded));
});

describe('functional', () => {
  it("attention is PyTorch's", () => {
    for (const recorded of reference.functional.attention) {
      const options = {
        isCausal: recorded.causal,
        attnMask: recorded.mask === null ? null : restore(recorded.mask),
      };
      expectRecorded(
        functional.scaledDotProductAttention(
          restore(recorded.q),
          restore(recorded.k),
          restore(recorded.v),
          options,
        ),
        recorded.output,
        'attention',
      );
    }
    const q = ones([1, 2, 4]);
    const nothing = functional.scaledDotProductAttention(q, q, q, {
      attnMask: tensor([
        [true, true],
        [false, false],
      ]),
    });
    expect(nothing.toArray()).toEqual([
      [
        [1, 1, 1, 1],
        [0, 0, 0, 0],
      ],
    ]);
    expect(
      isTesseraError(
        thrownBy(() =>
          functional.scaledDotProductAttention(q, q, q, { isCausal: true, attnMask: q }),
        ),
        'invalid-argument',
      ),
    ).toBe(true);
  });

  it("normalize, pad and oneHot are PyTorch's", () => {
    const { normalize, pad, oneHot } = reference.functional;
    expectRecorded(
      functional.normalize(restore(normalize.x), { dim: -1 }),
      normalize.p2,
      'normalize',
    );
    expectRecorded(
      functional.normalize(restore(normalize.x), { p: 1 }),
      normalize.p1,
      'normalize p=1',
    );
    expectRecorded(functional.pad(restore(pad.x), [1, 2, 0, 1], { value: 5 }), pad.constant, 'pad');
    expectRecorded(functional.pad(restore(pad.x), [-1, 1]), pad.negative, 'negative pad');
    expectRecorded(
      functional.oneHot(tensor(oneHot.x, { dtype: 'int64' }), 4),
      oneHot.output,
      'oneHot',
    );
    expect(
      isTesseraError(
        thrownBy(() => functional.pad(restore(pad.x), [1, 1], { mode: 'mirror' as never })),
        'invalid-argument',
      ),
    ).toBe(true);
  });

  it('dropout keeps the expectation, and everything in evaluation', () => {
    manualSeed(0);
    const x = ones([100, 100]);
    const kept = functional.dropout(x, { p: 0.25 });
    expect(kept.mean().item()).toBeCloseTo(1, 1);
    expect(kept.ne(0).sum().item() / 10_000).toBeCloseTo(0.75, 1);
    expect(functional.dropout(x, { p: 0.25, training: false })).toBe(x);
  });

  it('embedding takes the index first', () => {
    const weight = tensor([
      [1, 2],
      [3, 4],
    ]);
    expect(functional.embedding(tensor([1, 0], { dtype: 'int64' }), weight).toArray()).toEqual([
      [3, 4],
      [1, 2],
    ]);
  });
});

describe('layers', () => {
  it('start as PyTorch does', () => {
    manualSeed(0);
    const conv = new Conv2d(8, 16, 3);
    expect(conv.weight.abs().max().item()).toBeLessThanOrEqual(1 / Math.sqrt(72));
    expect(conv.bias!.abs().max().item()).toBeLessThanOrEqual(1 / Math.sqrt(72));
    const bn = new BatchNorm2d(2);
    expect([
      bn.weight!.toArray(),
      bn.bias!.toArray(),
      bn.running_var!.toArray(),
      bn.num_batches_tracked!.item(),
    ]).toEqual([[1, 1], [0, 0], [1, 1], 0]);
    const embedding = new Embedding(100, 50, { paddingIdx: -1 });
    expect(embedding.paddingIdx).toBe(99);
    expect(embedding.weight.select(0, 99).toArray()).toEqual(zeros([50]).toArray());
    expect(embedding.weight.std().item()).toBeCloseTo(1, 1);
    expect(embedding.weight.isLeaf).toBe(true);
  });

  it('print as PyTorch', () => {
    expect(
      [
        new Conv2d(1, 4, 3, { padding: 'same', dilation: 2, bias: false }),
        new Conv1d(4, 8, 3, { stride: 2, padding: 1, groups: 2 }),
        new Dropout(0.1),
        new Embedding(3, 4, { paddingIdx: 1 }),
        new MaxPool2d(2),
        new AvgPool2d([2, 3]),
        new AdaptiveAvgPool2d([2, null]),
        new GroupNorm(2, 4),
        new LeakyReLU(),
      ].map(String),
    ).toEqual([
      'Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=same, dilation=(2, 2), bias=False)',
      'Conv1d(4, 8, kernel_size=(3,), stride=(2,), padding=(1,), groups=2)',
      'Dropout(p=0.1, inplace=False)',
      'Embedding(3, 4, padding_idx=1)',
      'MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)',
      'AvgPool2d(kernel_size=(2, 3), stride=(2, 3), padding=0)',
      'AdaptiveAvgPool2d(output_size=(2, None))',
      'GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)',
      'LeakyReLU(negative_slope=0.01)',
    ]);
  });

  it.each([
    [
      'groups that do not divide',
      () => new Conv2d(3, 4, 3, { groups: 2 }),
      'must be divisible by groups (2)',
    ],
    [
      'a kernel of another rank',
      () => new Conv1d(3, 4, [3, 3]),
      'kernelSize must be an integer or a list of 1',
    ],
    [
      'norm groups that do not divide',
      () => new GroupNorm(3, 4),
      'must be divisible by numGroups (3)',
    ],
    ['a probability above one', () => new Dropout(2), 'dropout probability'],
  ])('refuse %s', (_, make, message) => {
    const error = thrownBy(make);
    expect(isTesseraError(error, 'invalid-argument')).toBe(true);
    expect(error.message).toContain(message);
  });

  it('refuse inputs of another shape', () => {
    const fails = (module: TensorModule, input: Tensor): string => {
      const error = thrownBy(() => module.call(input));
      expect(isTesseraError(error, 'shape-mismatch')).toBe(true);
      return error.message;
    };
    expect(fails(new BatchNorm2d(3), ones([2, 3]))).toContain(
      'BatchNorm2d: expected 4D input (got 2D input)',
    );
    expect(fails(new BatchNorm1d(3), ones([1, 3]))).toContain(
      'Expected more than 1 value per channel when training, got input size [1, 3]',
    );
    expect(new BatchNorm1d(3).eval().call(ones([1, 3])).sizes).toEqual([1, 3]);
    fails(new nn.Linear(3, 2), ones([2, 4]));
    fails(new Conv2d(3, 2, 1), ones([1, 2, 4, 4]));
    expect(
      isTesseraError(
        thrownBy(() => new Embedding(3, 2, { paddingIdx: 3 })),
        'index-out-of-range',
      ),
    ).toBe(true);
  });

  it('average all batches with momentum null', () => {
    const bn = new BatchNorm1d(1, { momentum: null, affine: false });
    for (const value of [1, 2, 6]) bn.call(tensor([[value], [value]]));
    expect(bn.running_mean!.item()).toBeCloseTo(3, 5);
    expect(bn.num_batches_tracked!.item()).toBe(3);
    // The variance of each batch is 0, and that of the start counts for nothing.
    expect(bn.running_var!.item()).toBe(0);
    bn.resetRunningStats();
    expect([bn.running_mean!.item(), bn.num_batches_tracked!.item()]).toEqual([0, 0]);
  });
});
