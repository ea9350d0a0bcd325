/** @file `linearCrossEntropy` and its module, against what PyTorch 2.13 computed. */
import { type Tensor, arange, grad, noGrad, ones, softmax, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { LinearCrossEntropyLoss, functional as F } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

/** sin(k i) at position i. */
function waves(sizes: number[], k = 1.7): Tensor {
  const n = sizes.reduce((product, size) => product * size, 1);
  return arange(n, { dtype: 'float32' }).mul(k).sin().view(sizes);
}
const classes = (data: number | number[] | number[][]): Tensor => tensor(data, { dtype: 'int64' });

interface Case {
  readonly x: number[];
  readonly w: number[];
  readonly target: Tensor;
  readonly options?: F.LinearCrossEntropyOptions;
  readonly loss: number[];
  readonly dx: number[];
  /** The first six. */
  readonly dw: number[];
}
const bias = waves([5], 2.1);
// prettier-ignore
const CASES: Readonly<Record<string, Case>> = {
  'class indices': { x: [3, 4], w: [5, 4], target: classes([1, 4, 0]), loss: [2.170641], dx: [0.372169, 0.514538, 0.267514, -0.181958, -0.080736, 0.032689, 0.121375, 0.118207, 0.217067, -0.138778, -0.389598, -0.345579], dw: [-0.258432, -0.066658, 0.275609, -0.004364, 0.041805, -0.284102] },
  'a bias, smoothing': { x: [3, 4], w: [5, 4], target: classes([1, -100, 0]), options: { linearBias: bias, reduction: 'none', labelSmoothing: 0.1 }, loss: [2.522933, 0, 3.335183], dx: [1.115455, 1.236284, 0.421519, -0.712244, 0, 0, 0, 0, 0.672842, -0.497252, -1.291036, -1.10779], dw: [-0.762537, -0.289482, 0.837133, 0.073762, 0.110956, -0.783155] },
  'weights of classes': { x: [3, 4], w: [5, 4], target: classes([1, 2, 0]), options: { weight: waves([5], 0.3).abs(), ignoreIndex: 2 }, loss: [3.046462], dx: [1.116507, 1.543612, 0.802543, -0.545875, 0, 0, 0, 0, 0, 0, 0, 0], dw: [0, 0.118234, -0.030468, -0.110382, 0, -0.944534] },
  'more dimensions': { x: [2, 4], w: [3, 2, 4], target: classes([[0, 2], [1, 1]]), options: { reduction: 'sum' }, loss: [5.887789], dx: [0.859361, -0.735738, -1.774045, -1.469791, 0.411687, -0.307548, -0.794036, -0.679615], dw: [0.037459, -0.803911, 0.1697, 0.760181, 0.294665, 0.915525] },
  probabilities: { x: [2, 4], w: [3, 4], target: softmax(waves([2, 3]), 1), loss: [1.494581], dx: [0.320139, 0.502244, 0.304261, -0.123981, 0.126395, 0.234574, 0.165232, -0.029154], dw: [0.016471, 0.024673, -0.022829, -0.01879, -0.061096, -0.354297] },
  'one input': { x: [4], w: [3, 4], target: classes(2), loss: [0.367293], dx: [-0.282738, -0.211618, 0.01965, 0.236047], dw: [0, 0.217951, -0.056164, -0.203478, 0, 0.08688] },
};

function expectClose(actual: Tensor, expected: readonly number[]): void {
  const values = Array.from(actual.detach().contiguous().toTypedArray() as Float32Array);
  expected.forEach((wanted, i) => expect(Math.abs(values[i]! - wanted)).toBeLessThan(3e-6));
}

describe.each([
  ['eager', false],
  ['compiled', true],
] as const)('linearCrossEntropy, %s', (_, compiled) => {
  it.each(Object.entries(CASES))('%s', (_name, { x, w, target, options, loss, dx, dw }) => {
    const run = (a: Tensor, b: Tensor): Tensor[] => {
      const y = F.linearCrossEntropy(a, b, target, options);
      return [y, ...grad([y.sum()], [a, b]).map((each) => each!)];
    };
    const call = compiled ? compileForTest(run).call : run;
    const [y, da, db] = call(waves(x).requiresGrad_(), waves(w, 0.9).requiresGrad_());
    expectClose(y!, loss);
    expectClose(da!, dx);
    expectClose(db!, dw);
  });
});

describe('LinearCrossEntropyLoss', () => {
  it('has the tensors and the text of PyTorch', () => {
    const module = new LinearCrossEntropyLoss(5, 10, {
      outFeatures: [4, 3],
      bias: true,
      weight: ones([10]),
    });
    const sizes = Object.entries(module.stateDict()).map(([name, value]) => [name, value.sizes]);
    expect(sizes).toEqual([
      ['weight', [10]],
      ['linear.weight', [120, 5]],
      ['linear.bias', [120]],
    ]);
    expect(`${new LinearCrossEntropyLoss(5, 10, { outFeatures: [4, 3] })}`).toBe(
      `LinearCrossEntropyLoss(
  in_features=5, num_classes=10, out_features=(4, 3), bias=False, reduction=mean, ignore_index=None, label_smoothing=0.0, options=None
  (linear): Linear(in_features=5, out_features=120, bias=False)
)`,
    );
  });

  it('is the function of its layer', () => {
    const { x, target, options, loss } = CASES['more dimensions']!;
    const module = new LinearCrossEntropyLoss(4, 3, { ...options, outFeatures: [2] });
    noGrad(() => module.linear.weight.copy_(waves([6, 4], 0.9)));
    expectClose(module.call(waves(x), target), loss);
  });
});

describe('linearCrossEntropy refuses in the words of PyTorch', () => {
  const [x, w, target] = [ones([2, 4]), ones([3, 4]), classes([0, 1])];
  it.each<[string, () => unknown, string]>([
    [
      'other features',
      () => F.linearCrossEntropy(ones([2, 3]), w, target),
      'expected equal input and linear_weight last dimensions (in_features), got 3 and 4',
    ],
    [
      'a bias of another shape',
      () => F.linearCrossEntropy(x, w, target, { linearBias: ones([4]) }),
      'expected linear_bias shape [3], got [4]',
    ],
    [
      'dimensions without a batch',
      () => F.linearCrossEntropy(ones([4]), ones([3, 2, 4]), target),
      'requires batched input, (N, 4), got unbatched input',
    ],
    [
      'an index beside probabilities',
      () => F.linearCrossEntropy(x, w, ones([2, 3]), { ignoreIndex: 1 }),
      'ignore_index cannot be specified when target contains probabilities',
    ],
    [
      'an option of PyTorch that is not here',
      () => F.linearCrossEntropy(x, w, target, { options: {} } as never),
      "no option 'options'",
    ],
    [
      'weights of another shape',
      () => new LinearCrossEntropyLoss(4, 3, { weight: ones([2]) }),
      'expected weight shape to be [3], got [2]',
    ],
    [
      'too much smoothing',
      () => new LinearCrossEntropyLoss(4, 3, { labelSmoothing: 2 }),
      'expected label_smoothing to be in range [0, 1], got 2',
    ],
  ])('%s', (_name, call, message) => {
    expect(call).toThrow(message);
  });
});
