/**
 * @file Unpooling, fractional pooling, adaptive softmax, packed sequences, lazy modules and parametrizations, eager
 * and compiled, against what PyTorch computed (data/reference-more-modules.py).
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Tensor, grad, manualSeed, ones, randn, tensor } from '@tessera/tensor';
import { svdvals } from '@tessera/tensor/linalg';
import { describe, expect, it } from 'vitest';
import {
  AdaptiveLogSoftmaxWithLoss,
  BatchNorm1d,
  Conv2d,
  FractionalMaxPool2d,
  GRU,
  LSTM,
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
  LazyBatchNorm1d,
  LazyConvTranspose1d,
  LazyConvTranspose2d,
  LazyConvTranspose3d,
  LazyInstanceNorm1d,
  LazyInstanceNorm2d,
  LazyInstanceNorm3d,
  LazyConv1d,
  LazyConv2d,
  LazyConv3d,
  LazyLinear,
  Linear,
  MaxPool2d,
  MaxUnpool2d,
  Module,
  type PackedSequence,
  RNN,
  ReLU,
  Sequential,
  functional as F,
  hasUninitializedParams,
  optim,
  packPaddedSequence,
  packSequence,
  padPackedSequence,
  padSequence,
  parametrize,
  unpackSequence,
} from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { type Recorded, expectRecorded, restore } from './reference.js';

type Tensors = Record<string, Recorded>;
type Case<K extends string, V = unknown> = Record<K, Recorded> & { readonly [name: string]: V };

const recorded = JSON.parse(
  gunzipSync(
    readFileSync(new URL('./data/reference-more-modules.json.gz', import.meta.url)),
  ).toString(),
) as {
  unpool: (Case<'input' | 'indices' | 'output' | 'cotangent' | 'grad', never> & {
    rank: 1 | 2 | 3;
  })[];
  fractional: (Case<'samples' | 'input' | 'output' | 'indices' | 'cotangent' | 'grad', never> & {
    rank: 2 | 3;
  })[];
  adaptive: (Case<'input' | 'target' | 'output' | 'grad' | 'logProb' | 'predict', never> & {
    state: Tensors;
    grads: Tensors;
    loss: number;
  })[];
  packed: (Case<'input' | 'packed' | 'output' | 'grad', never> & {
    kind: 'RNN' | 'GRU' | 'LSTM';
    state: Tensors;
    grads: Tensors;
    states: Recorded[];
    cotangents: Recorded[];
  })[];
  spectral: (Case<'input' | 'evaluated', never> & {
    transposed: boolean;
    before: Tensors;
    after: Tensors;
    grads: Tensors;
    outputs: Recorded[];
  })[];
  weight: (Case<'input' | 'output', never> & {
    dim: number | null;
    state: Tensors;
    grads: Tensors;
  })[];
};

const restored = (tensors: Tensors): Record<string, Tensor> =>
  Object.fromEntries(Object.entries(tensors).map(([name, value]) => [name, restore(value)]));

function expectGrads(module: Module, grads: Tensors): void {
  for (const [name, value] of Object.entries(grads))
    expectRecorded(module.getParameter(name).grad!, value, `gradient of ${name}`, 1e-5, 1e-5);
}

const modes = [
  ['eager', false],
  ['compiled', true],
] as const;

/** The function as it is, or compiled. */
function maybe<A extends unknown[], R>(
  compiled: boolean,
  fn: (...args: A) => R,
): (...args: A) => R {
  return compiled ? compileForTest(fn).call : fn;
}

describe.each(modes)('pooling, %s', (_, compiled) => {
  it.each(recorded.unpool)('max unpooling in $rank dimensions', (entry) => {
    const fn = { 1: F.maxUnpool1d, 2: F.maxUnpool2d, 3: F.maxUnpool3d }[entry.rank];
    const { kernel, stride, padding, outputSize } = entry;
    const input = restore(entry.input).requiresGrad_();
    const run = maybe(compiled, (x: Tensor, indices: Tensor) =>
      fn(x, indices, kernel, { stride, padding, outputSize }),
    );
    const output = run(input, restore(entry.indices));
    expectRecorded(output, entry.output, 'output');
    output.backward(restore(entry.cotangent));
    expectRecorded(input.grad!, entry.grad, 'gradient');
  });

  it('max unpooling keeps the format of images', () => {
    const run = maybe(compiled, (x: Tensor) => F.maxUnpool2d(...F.maxPool2dWithIndices(x, 2), 2));
    const image = randn([2, 3, 4, 6]);
    const spread = run(image.contiguous({ memoryFormat: 'channelsLast' }));
    expect(spread.strides).toEqual([72, 1, 18, 3]);
    expect(spread.toArray()).toEqual(run(image).toArray());
    expect(run(image).strides).toEqual([72, 24, 6, 1]);
  });

  it.each(recorded.fractional)('fractional max pooling in $rank dimensions', (entry) => {
    const fn = { 2: F.fractionalMaxPool2dWithIndices, 3: F.fractionalMaxPool3dWithIndices }[
      entry.rank
    ];
    const input = restore(entry.input).requiresGrad_();
    const run = maybe(compiled, (x: Tensor, randomSamples: Tensor) =>
      fn(x, entry.kernel, { ...(entry.options as object), randomSamples }),
    );
    const [output, indices] = run(input, restore(entry.samples));
    expectRecorded(output, entry.output, 'output');
    expectRecorded(indices, entry.indices, 'indices');
    output.backward(restore(entry.cotangent));
    expectRecorded(input.grad!, entry.grad, 'gradient');
  });

  it('modules undo and draw', () => {
    manualSeed(1);
    const x = randn([2, 3, 8, 8]);
    const undo = maybe(compiled, (input: Tensor) => {
      const [y, indices] = new MaxPool2d(2, { returnIndices: true }).call(input);
      return new MaxUnpool2d(2).call(y, indices);
    });
    const back = undo(x);
    expect(back.ne(0).sum().item()).toBe(2 * 3 * 16);
    expect(back.sub(x).mul(back.ne(0)).abs().max().item()).toBe(0);
    const pool = new FractionalMaxPool2d(2, { outputRatio: 0.6 });
    expect(maybe(compiled, (input: Tensor) => pool.call(input))(x).sizes).toEqual([2, 3, 4, 4]);
    expect(pool.call(x.select(0, 0)).sizes).toEqual([3, 4, 4]);
  });
});

describe('pooling options', () => {
  it('that do not fit are errors', () => {
    const x = ones([1, 1, 4, 4]);
    expect(() => F.fractionalMaxPool2d(x, 2, {})).toThrow('exactly one');
    expect(() => F.fractionalMaxPool2d(x, 2, { outputRatio: 2 })).toThrow('between 0 and 1');
    expect(() => F.fractionalMaxPool2d(x, 3, { outputSize: 4 })).toThrow('too large');
    expect(() => F.maxUnpool2d(x, x.narrow(2, 0, 2), 2)).toThrow('shape of indices');
    expect(() => F.maxUnpool2d(x, x.to('int64'), 2, { outputSize: [20, 20] })).toThrow(
      'outputSize',
    );
  });
});

describe.each(modes)('gumbelSoftmax, %s', (_, compiled) => {
  it('draws categories with their probabilities, and passes gradients', () => {
    manualSeed(3);
    const logits = tensor([0.1, 0.3, 0.6]).log().expand([4000, 3]).clone().requiresGrad_();
    const run = maybe(compiled, (x: Tensor) => F.gumbelSoftmax(x, { hard: true, tau: 0.5 }));
    const sample = run(logits);
    expect(sample.sum(-1).min().item()).toBeCloseTo(1, 5);
    const shares = sample.detach().mean(0).toArray() as number[];
    [0.1, 0.3, 0.6].forEach((p, i) => expect(Math.abs(shares[i]! - p)).toBeLessThan(0.03));
    sample
      .mul(tensor([1, 2, 3]))
      .sum()
      .backward();
    expect(logits.grad!.abs().sum().item()).toBeGreaterThan(1);
    const soft = F.gumbelSoftmax(logits, { tau: 2 });
    expect(soft.max().item()).toBeLessThan(1);
    expect(() => F.gumbelSoftmax(logits, { tau: 0 })).toThrow('tau');
  });
});

describe.each(modes)('AdaptiveLogSoftmaxWithLoss, %s', (_, compiled) => {
  it.each(recorded.adaptive)('as PyTorch: %#', (entry) => {
    const module = new AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], entry.options);
    module.loadStateDict(restored(entry.state));
    const input = restore(entry.input).requiresGrad_();
    const run = maybe(compiled, (x: Tensor, y: Tensor) => module.call(x, y));
    const { output, loss } = run(input, restore(entry.target));
    expectRecorded(output, entry.output, 'output');
    expect(loss.item()).toBeCloseTo(entry.loss, 5);
    loss.backward();
    expectRecorded(input.grad!, entry.grad, 'gradient');
    expectGrads(module, entry.grads);
    expectRecorded(
      maybe(compiled, (x: Tensor) => module.logProb(x))(input),
      entry.logProb,
      'logProb',
    );
    expectRecorded(
      maybe(compiled, (x: Tensor) => module.predict(x))(input),
      entry.predict,
      'predict',
    );
    expect(() => module.call(input, restore(entry.target).add(30))).toThrow('Target values');
    expect(() => new AdaptiveLogSoftmaxWithLoss(8, 20, [10, 4])).toThrow('increasing');
  });
});

describe.each(modes)('packed sequences, %s', (_, compiled) => {
  const kinds = { RNN, GRU, LSTM };
  it.each(recorded.packed)('through $kind: %#', (entry) => {
    const { batchFirst, lengths, options } = entry as unknown as {
      batchFirst: boolean;
      lengths: number[];
      options: object;
    };
    const module = new kinds[entry.kind](3, 4, { batchFirst, ...options });
    module.loadStateDict(restored(entry.state));
    const input = restore(entry.input).requiresGrad_();
    const run = maybe(compiled, (x: Tensor) => {
      const packed = packPaddedSequence(x, lengths, { batchFirst, enforceSorted: false });
      const [out, state] = (module as RNN).call(packed) as [PackedSequence, Tensor | Tensor[]];
      const [padded, back] = padPackedSequence(out, { batchFirst, paddingValue: -1 });
      return { packed, padded, back, states: Array.isArray(state) ? state : [state] };
    });
    const { packed, padded, back, states } = run(input);
    expect(packed.batchSizes).toEqual(entry.batchSizes);
    expectRecorded(packed.data, entry.packed, 'packed');
    expect(back).toEqual(entry.back);
    expectRecorded(padded, entry.output, 'output');
    states.forEach((state, i) => expectRecorded(state, entry.states[i]!, `state ${i}`));
    const total = [padded, ...states]
      .map((tensor_, i) => tensor_.mul(restore(entry.cotangents[i]!)).sum())
      .reduce((a, b) => a.add(b));
    total.backward();
    expectRecorded(input.grad!, entry.grad, 'gradient');
    expectGrads(module, entry.grads);
  });

  it('are arguments and results of a compiled function; states follow the given order', () => {
    const lstm = new LSTM(3, 4);
    const run = maybe(compiled, (p: PackedSequence, h: Tensor, c: Tensor) => lstm.call(p, [h, c]));
    const sequences = [randn([2, 3]), randn([4, 3]), randn([3, 3])];
    const [h, c] = [randn([1, 3, 4]), randn([1, 3, 4])];
    const [out, [hn]] = run(packSequence(sequences, { enforceSorted: false }), h, c);
    unpackSequence(out).forEach((own, i) => {
      const [one, [last]] = lstm.call(sequences[i]!, [h.select(1, i), c.select(1, i)]);
      expect(own.sub(one).abs().max().item()).toBeLessThan(1e-6);
      expect(hn.select(1, i).sub(last).abs().max().item()).toBeLessThan(1e-6);
    });
  });
});

describe('packing', () => {
  it('pads, and says what does not fit', () => {
    const padded = padSequence([ones([1, 2]), ones([3, 2])], { batchFirst: true, paddingValue: 7 });
    expect(padded.toArray()).toEqual([
      [
        [1, 1],
        [7, 7],
        [7, 7],
      ],
      [
        [1, 1],
        [1, 1],
        [1, 1],
      ],
    ]);
    expect(packPaddedSequence(ones([3, 2, 1]), Int32Array.of(3, 2) as never).data.shape).toEqual([
      5, 1,
    ]);
    expect(() => packPaddedSequence(ones([3, 2, 1]), [1, 3])).toThrow('decreasing order');
    expect(() => packPaddedSequence(ones([3, 2, 1]), [3, 0])).toThrow('greater than 0');
    expect(() => packPaddedSequence(ones([3, 2, 1]), [4, 1])).toThrow('len(lengths)');
    const packed = packPaddedSequence(ones([3, 2, 1]), tensor([3, 1]));
    expect(padPackedSequence(packed, { totalLength: 5 })[0].sizes).toEqual([5, 2, 1]);
    expect(() => padPackedSequence(packed, { totalLength: 2 })).toThrow('total_length');
    expect(() => new RNN(4, 4).call(packed)).toThrow('Expected 4, got 1');
    expect(() => padSequence([])).toThrow('empty list');
  });
});

describe.each(modes)('lazy modules, %s', (_, compiled) => {
  it('take their sizes from the first input, and train', () => {
    const model = new Sequential(
      new LazyLinear(8),
      new LazyBatchNorm1d(),
      new ReLU(),
      new LazyLinear(2),
    );
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const first = model.parameters()[0]!;
    expect([hasUninitializedParams(model.children()[0]!), first.numel]).toEqual([true, 0]);
    const step = maybe(compiled, (x: Tensor) => {
      optimizer.zeroGrad();
      const loss = model.call(x).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    });
    const x = randn([6, 5]);
    if (compiled) model.call(x);
    const losses = [0, 1, 2, 3].map(() => step(x).item());
    expect(losses[3]).toBeLessThan(losses[0]!);
    expect([model.parameters()[0], first.sizes]).toEqual([first, [8, 5]]);
    expect(model.children().map((m) => m.constructor.name)).toEqual([
      'Linear',
      'BatchNorm1d',
      'ReLU',
      'Linear',
    ]);
  });

  it.each([
    [LazyConv1d, [2, 4, 9]],
    [LazyConv2d, [2, 4, 9, 9]],
    [LazyConv3d, [2, 4, 5, 5, 5]],
  ] as const)('%o', (Lazy, sizes) => {
    const conv = new Lazy(6, 3, { groups: 2 });
    const out = conv.call(randn(sizes));
    expect([conv.inChannels, conv.weight.sizes[1], out.sizes[1]]).toEqual([4, 2, 6]);
    expect(maybe(compiled, (x: Tensor) => conv.call(x))(randn(sizes)).sizes).toEqual(out.sizes);
  });
});

describe('lazy modules', () => {
  it.each([
    [LazyConvTranspose1d, ConvTranspose1d, [4, 9]],
    [LazyConvTranspose2d, ConvTranspose2d, [2, 4, 9, 9]],
    [LazyConvTranspose3d, ConvTranspose3d, [2, 4, 5, 5, 5]],
  ] as const)('%o', (Lazy, Plain, sizes) => {
    const lazy = new Lazy(6, 3, { groups: 2, stride: 2 });
    const x = randn(sizes);
    const out = lazy.call(x);
    const plain = new Plain(4, 6, 3, { groups: 2, stride: 2 });
    expect([lazy.toString(), lazy.constructor]).toEqual([plain.toString(), Plain]);
    plain.loadStateDict(lazy.stateDict());
    expect(plain.call(x).equal(out)).toBe(true);
  });

  it.each([
    [LazyInstanceNorm1d, InstanceNorm1d, [2, 3, 5]],
    [LazyInstanceNorm2d, InstanceNorm2d, [3, 5, 4]],
    [LazyInstanceNorm3d, InstanceNorm3d, [2, 3, 2, 3, 4]],
  ] as const)('%o', (Lazy, Plain, sizes) => {
    const options = { affine: true, trackRunningStats: true };
    const [lazy, plain] = [new Lazy(options), new Plain(3, options)];
    const x = randn(sizes);
    expect(lazy.call(x).equal(plain.call(x))).toBe(true);
    expect([lazy.toString(), lazy.constructor]).toEqual([plain.toString(), Plain]);
    expect(lazy.running_var!.equal(plain.running_var!)).toBe(true);
    expect(new Lazy().call(x).equal(new Plain(3).call(x))).toBe(true);
  });

  it('take their sizes from a state dict', () => {
    const source = new Sequential(
      new Linear(3, 4),
      new BatchNorm1d(4),
      new Conv2d(4, 6, 3, { groups: 2 }),
    );
    const lazy = new Sequential(
      new LazyLinear(4),
      new LazyBatchNorm1d(),
      new LazyConv2d(6, 3, { groups: 2 }),
    );
    lazy.loadStateDict(source.stateDict());
    expect(lazy.toString()).toBe(source.toString());
    expect(lazy.stateDict()['0.weight']!.toArray()).toEqual(
      source.stateDict()['0.weight']!.toArray(),
    );
  });
});

class Symmetric extends Module {
  override forward(x: Tensor): Tensor {
    return x.triu().add(x.triu(1).t());
  }
  rightInverse(x: Tensor): Tensor {
    return x.triu();
  }
}
class Doubled extends Module {
  override forward(x: Tensor): Tensor {
    return x.mul(2);
  }
}

describe.each(modes)('parametrizations, %s', (_, compiled) => {
  it('compute a weight when it is read, and train', () => {
    manualSeed(8);
    const layer = new Linear(3, 3);
    const { weight } = layer;
    parametrize.registerParametrization(layer, 'weight', new Symmetric());
    parametrize.registerParametrization(layer, 'weight', new Doubled());
    expect(layer.getParameter('parametrizations.weight.original')).toBe(weight);
    expect(Object.keys(layer.stateDict()).sort()).toEqual([
      'bias',
      'parametrizations.weight.original',
    ]);
    const optimizer = new optim.SGD(layer.parameters(), { lr: 0.05 });
    const step = maybe(compiled, (x: Tensor) => {
      optimizer.zeroGrad();
      const loss = layer.call(x).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    });
    const x = randn([5, 3]);
    const losses = Array.from({ length: 5 }, () => step(x).item());
    expect(losses[4]).toBeLessThan(losses[0]!);
    const value = layer.weight.detach();
    expect(value.sub(value.t()).abs().max().item()).toBe(0);
    parametrize.removeParametrizations(layer, 'weight');
    expect(layer.weight).toBe(weight);
    expect(layer.weight.sub(value).abs().max().item()).toBe(0);
    expect([parametrize.isParametrized(layer), Object.keys(layer.stateDict())]).toEqual([
      false,
      ['weight', 'bias'],
    ]);
  });

  it.each(recorded.spectral)('spectralNorm as PyTorch: %#', (entry) => {
    const module = entry.transposed ? new ConvTranspose2d(2, 3, 2) : new Linear(5, 4);
    parametrize.spectralNorm(module, entry.options);
    module.loadStateDict(restored(entry.before));
    const run = maybe(compiled, (x: Tensor) => module.call(x));
    const x = restore(entry.input);
    entry.outputs.forEach((expected, i) => {
      const out = run(x);
      expectRecorded(out, expected, `output ${i}`);
      out.square().sum().backward();
    });
    for (const [name, value] of Object.entries(entry.after))
      expectRecorded(module.stateDict()[name]!, value, name);
    expectGrads(module, entry.grads);
    module.eval();
    expectRecorded(run(x), entry.evaluated, 'evaluated');
  });

  it.each(recorded.weight)('weightNorm with dim $dim as PyTorch', (entry) => {
    const module = parametrize.weightNorm(new Linear(5, 4), { dim: entry.dim });
    const state = restored(entry.state);
    module.loadStateDict({
      bias: state.bias!,
      'parametrizations.weight.original0': state.weight_g!,
      'parametrizations.weight.original1': state.weight_v!,
    });
    const out = maybe(compiled, (x: Tensor) => module.call(x))(restore(entry.input));
    expectRecorded(out, entry.output, 'output');
    out.square().sum().backward();
    expectGrads(module, {
      bias: entry.grads.bias!,
      'parametrizations.weight.original0': entry.grads.weight_g!,
      'parametrizations.weight.original1': entry.grads.weight_v!,
    });
  });

  it('weightNorm loads the names of checkpoints that are older than parametrizations', () => {
    const entry = recorded.weight[0]!;
    const net = new Sequential(parametrize.weightNorm(new Linear(5, 4), { dim: entry.dim }));
    const { bias, weight_g, weight_v } = restored(entry.state);
    net.loadStateDict({ '0.bias': bias!, '0.weight_g': weight_g!, '0.weight_v': weight_v! });
    expectRecorded(net.call(restore(entry.input)), entry.output, 'output');
    expect(() => net.loadStateDict({ '0.bias': bias!, '0.weight_g': weight_g! })).toThrow(
      'Unexpected key(s) in state_dict: "0.weight_g"',
    );
  });
});

describe('parametrizations', () => {
  it('are assigned through their inverses', () => {
    const layer = new Linear(2, 2);
    parametrize.registerParametrization(layer, 'weight', new Symmetric());
    layer.weight = tensor([
      [1, 2],
      [2, 3],
    ]) as never;
    expect(layer.weight.toArray()).toEqual([
      [1, 2],
      [2, 3],
    ]);
    const doubled = parametrize.registerParametrization(new Linear(2, 2), 'weight', new Doubled());
    expect(() => (doubled.weight = ones([2, 2]) as never)).toThrow('no rightInverse');
    parametrize.removeParametrizations(doubled, 'weight', { leaveParametrized: false });
    const [g] = grad(doubled.call(ones([1, 2])).sum(), doubled.weight);
    expect(g!.toArray()).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('have a largest singular value of 1 under spectralNorm', () => {
    const layer = parametrize.spectralNorm(new Linear(6, 5));
    for (let i = 0; i < 20; i++) void layer.weight;
    expect((svdvals(layer.weight.detach()).toArray() as number[])[0]).toBeCloseTo(1, 3);
  });

  it('are refused where they do not fit', () => {
    const layer = new Linear(2, 3);
    const { registerParametrization, removeParametrizations } = parametrize;
    expect(() => registerParametrization(layer, 'nope', new Doubled())).toThrow("'nope'");
    class Sum extends Module {
      override forward(x: Tensor): Tensor {
        return x.sum();
      }
    }
    expect(() => registerParametrization(layer, 'weight', new Sum())).toThrow('shape or dtype');
    expect(() => removeParametrizations(layer, 'weight')).toThrow(
      'does not have a parametrization',
    );
    expect(parametrize.isParametrized(layer)).toBe(false);
  });
});
