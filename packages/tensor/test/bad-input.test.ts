/**
 * @file Bad input: a `TesseraError` that names the operator, the shapes and the fix; nothing is corrupted.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  arange,
  bitwiseAnd,
  callOp,
  cat,
  chunk,
  embedding,
  expand,
  gather,
  getOp,
  index,
  linear,
  maskedFill,
  matmul,
  mm,
  norm,
  ones,
  oneHot,
  pow,
  scatter,
  split,
  stack,
  tensor,
  topk,
  tril,
  unbind,
  where,
  zeros,
} from '../src/index.js';
import {
  adaptiveAvgPool2d,
  avgPool2d,
  batchNorm,
  binaryCrossEntropyWithLogits,
  conv2d,
  convTranspose2d,
  crossEntropy,
  groupNorm,
  layerNorm,
  maxPool2d,
  nllLoss,
  smoothL1Loss,
} from '../src/internal.js';

const long = (...data: number[]) => tensor(data, { dtype: 'int64' });

const cases: [what: string, call: () => unknown, code: string, message: RegExp][] = [
  [
    'shapes that do not broadcast',
    () => ones([2, 3]).add(ones([4])),
    'shape-mismatch',
    /add: .*\[2, 3\] and \[4\] do not broadcast/s,
  ],
  [
    'matrices that do not fit',
    () => mm(ones([2, 3]), ones([2, 3])),
    'shape-mismatch',
    /mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)/,
  ],
  [
    'a matmul with a 0-d tensor',
    () => matmul(ones([]), ones([2])),
    'shape-mismatch',
    /at least 1D/,
  ],
  [
    'dtypes that do not fit',
    () => mm(ones([2, 2]), ones([2, 2], { dtype: 'float64' })),
    'dtype-mismatch',
    /float32 != float64/,
  ],
  [
    'a linear layer of the wrong width',
    () => linear(ones([2, 5]), ones([3, 4])),
    'shape-mismatch',
    /has 5 features, but weight of shape \[3, 4\] takes 4/,
  ],
  [
    'copy_ from more dimensions than there are',
    () => zeros([3]).copy_(zeros([2, 3])),
    'shape-mismatch',
    /number of sizes provided \(1\) must be greater or equal to the number of dimensions in the tensor \(2\)/,
  ],
  [
    'a difference of bools',
    () => ones([2], { dtype: 'bool' }).sub(ones([2], { dtype: 'bool' })),
    'dtype-unsupported',
    /Subtraction, the `-` operator, with two bool tensors is not supported/,
  ],
  [
    'softmax of integers',
    () => long(1, 2).softmax(0),
    'dtype-unsupported',
    /softmax is not implemented for int64/,
  ],
  [
    'a power of bools',
    () => pow(ones([2], { dtype: 'bool' }), ones([2], { dtype: 'bool' })),
    'dtype-unsupported',
    /"pow" not implemented for .bool./,
  ],
  [
    'an impossible expand',
    () => expand(ones([2]), [3]),
    'shape-mismatch',
    /expanded size of the tensor \(3\) must match the existing size \(2\)/,
  ],
  [
    'a reshape to another size',
    () => ones([6]).reshape([4]),
    'shape-mismatch',
    /shape '\[4\]' is invalid for input of size 6/,
  ],
  [
    'a dimension that is not there',
    () => ones([2]).sum(1),
    'invalid-dim',
    /expected to be in range of \[-1, 0\], but got 1/,
  ],
  [
    'a dimension named twice',
    () => ones([2, 2]).sum([0, -2]),
    'invalid-dim',
    /appears multiple times/,
  ],
  ['a maximum of nothing', () => zeros([0]).amax(), 'shape-mismatch', /to have non-zero size/],
  ['a mean of integers', () => arange(3).mean(), 'dtype-unsupported', /mean\(\).*int64/],
  ['a norm of integers', () => norm(arange(3)), 'dtype-unsupported', /floating point/],
  [
    'bits of floats',
    () => bitwiseAnd(ones([1]), 1),
    'dtype-unsupported',
    /not implemented for float32/,
  ],
  [
    'integers to negative powers',
    () => pow(arange(3), -1),
    'invalid-argument',
    /negative integer powers/,
  ],
  [
    'integer division by zero',
    () => arange(3).div(arange(3), { roundingMode: 'floor' }),
    'invalid-argument',
    /division by zero/,
  ],
  [
    'several elements of a scalar',
    () => tensor(1).indexSelect(0, arange(2)),
    'shape-mismatch',
    /Index to scalar can have only 1 value, got 2/,
  ],
  [
    'a mask that is not bool',
    () => maskedFill(ones([2]), ones([2]), 0),
    'dtype-mismatch',
    /boolean masks/,
  ],
  ['nothing to join', () => cat([]), 'invalid-argument', /non-empty list/],
  [
    'parts that do not join',
    () => cat([ones([2, 2]), ones([2, 3])], 0),
    'shape-mismatch',
    /must match except in dimension 0/,
  ],
  ['scalars to join', () => cat([ones([]), ones([])]), 'shape-mismatch', /zero-dimensional/],
  [
    'shapes that do not stack',
    () => stack([ones([2]), ones([3])]),
    'shape-mismatch',
    /\[2\] at entry 0 and \[3\] at entry 1/,
  ],
  ['no chunks', () => chunk(ones([2]), 0), 'invalid-argument', /greater than 0/],
  [
    'an index out of range',
    () => index(ones([3]), [long(3)]),
    'index-out-of-range',
    /index 3 is out of bounds for dimension with size 3/,
  ],
  [
    'too many indices',
    () => index(ones([3]), [long(0), long(0)]),
    'shape-mismatch',
    /too many indices/,
  ],
  ['a float index', () => index(ones([3]), [ones([1])]), 'dtype-mismatch', /must be long/],
  [
    'an embedding index out of range',
    () => embedding(ones([4, 2]), long(4)),
    'index-out-of-range',
    /embedding: index 4/,
  ],
  [
    'an index of another rank',
    () => gather(ones([2, 2]), 0, long(0)),
    'shape-mismatch',
    /Expected index \[1\]/,
  ],
  [
    'a scatter out of range',
    () => scatter(ones([2]), 0, long(5), 1),
    'index-out-of-range',
    /scatter: index 5/,
  ],
  [
    'more than there are',
    () => topk(ones([2]), 3),
    'invalid-argument',
    /k = 3, dimension 0 has size 2/,
  ],
  ['a triangle of a vector', () => tril(ones([2])), 'invalid-dim', /at least 2 dimensions/],
  ['one-hot of floats', () => oneHot(ones([2]), 3), 'dtype-mismatch', /LongTensor/],
  [
    'one-hot of nothing, of a number of classes nobody gave',
    () => oneHot(zeros([0], { dtype: 'int64' })),
    'invalid-argument',
    /Can not infer total number of classes from empty tensor/,
  ],
  ...(['float32', 'int64', 'int8'] as const).map((dtype): (typeof cases)[number] => [
    `a condition of ${dtype}`,
    () => where(ones([2], { dtype }), 1, 2),
    'dtype-mismatch',
    new RegExp(`expected condition to be a boolean tensor, but got a tensor with dtype ${dtype}`),
  ]),
  ['an endless range', () => arange(0, 5, -1), 'invalid-argument', /not reached with step -1/],
  [
    'channels that do not fit',
    () => conv2d(ones([1, 3, 4, 4]), ones([2, 4, 3, 3])),
    'shape-mismatch',
    /weight of size \[2, 4, 3, 3\] .*does not fit input of size \[1, 3, 4, 4\]/,
  ],
  ...(
    [
      ['kernel', [0, 0], {}],
      ['stride', [2, 2], { stride: 0 }],
      ['padding', [2, 2], { padding: -1 }],
    ] as const
  ).flatMap(([what, kernel, options]): (typeof cases)[number][] => [
    [
      `an impossible ${what} of a mean`,
      () => avgPool2d(ones([1, 1, 4, 4]), kernel, options),
      'invalid-argument',
      /avg_pool2d: kernel size, dilation and stride should be greater than zero and padding not negative/,
    ],
    [
      `an impossible ${what} of a maximum`,
      () => maxPool2d(ones([1, 1, 4, 4]), kernel, options),
      'invalid-argument',
      /max_pool2d: kernel size, dilation and stride should be greater than zero and padding not negative/,
    ],
  ]),
  [
    'padding of a mean that holds whole windows',
    () => avgPool2d(ones([1, 1, 4, 4]), 2, { padding: 2 }),
    'invalid-argument',
    /pad should be at most half of effective kernel size/,
  ],
  [
    'parts of an image without pixels',
    () => adaptiveAvgPool2d(ones([1, 2, 4, 0]), 2),
    'shape-mismatch',
    /Expected input to have non-zero size for non-batch dimensions/,
  ],
  [
    'a convolution whose taps do not lie apart',
    () => conv2d(ones([1, 1, 4, 4]), ones([1, 1, 2, 2]), { dilation: 0 }),
    'invalid-argument',
    /convolution: kernel size, dilation and stride should be greater than zero/,
  ],
  [
    'output padding beyond the stride',
    () => convTranspose2d(ones([1, 1, 4, 4]), ones([1, 1, 2, 2]), { outputPadding: 1 }),
    'invalid-argument',
    /output padding must be smaller than either stride or dilation/,
  ],
  [
    'a kernel larger than the image',
    () => conv2d(ones([1, 1, 2, 2]), ones([1, 1, 3, 3])),
    'shape-mismatch',
    /larger than the input/,
  ],
  [
    'a stride that is not two numbers',
    () => conv2d(ones([1, 1, 4, 4]), ones([1, 1, 3, 3]), { stride: [1, 1, 1] }),
    'invalid-argument',
    /stride must be a number or 2 numbers/,
  ],
  [
    'too much pooling',
    () => maxPool2d(ones([1, 1, 2, 2]), 3),
    'shape-mismatch',
    /Output size is too small/,
  ],
  [
    'a norm of the wrong shape',
    () => layerNorm(ones([2, 3]), [4]),
    'shape-mismatch',
    /expected input with shape \[\*, 4\], but got input of size \[2, 3\]/,
  ],
  [
    'weights of a group norm for other channels',
    () => groupNorm(ones([2, 6, 3]), 2, { weight: ones([3]) }),
    'shape-mismatch',
    /group_norm: Expected weight and bias to be of shape \[6\], got \[3\]/,
  ],
  ...(['unbind', 'split', 'chunk'] as const).map((op): (typeof cases)[number] => [
    `${op} of a tensor without dimensions`,
    () =>
      op === 'unbind' ? unbind(ones([])) : op === 'split' ? split(ones([]), 1) : chunk(ones([]), 1),
    'invalid-dim',
    /expects at least a 1-dimensional tensor/,
  ]),
  [
    'statistics of the wrong size',
    () => batchNorm(ones([2, 3]), { runningMean: ones([2]), runningVar: ones([3]) }),
    'shape-mismatch',
    /running_mean should contain 3 elements not 2/,
  ],
  [
    'a target out of range',
    () => nllLoss(ones([2, 3]), long(0, 3)),
    'index-out-of-range',
    /Target 3 is out of bounds for 3 classes/,
  ],
  [
    'a target of another shape',
    () => crossEntropy(ones([2, 3]), long(0)),
    'shape-mismatch',
    /Expected input batch_size \(2\) to match target batch_size \(1\)\./,
  ],
  [
    'a target of sequences that is turned',
    () => crossEntropy(ones([2, 3, 4]), long(...Array<number>(8).fill(0)).reshape([4, 2])),
    'shape-mismatch',
    /Expected input batch_size \(2\) to match target batch_size \(4\)\./,
  ],
  [
    'weights that would broadcast the target',
    () => binaryCrossEntropyWithLogits(ones([5]), ones([5]), { weight: ones([2, 5]) }),
    'shape-mismatch',
    /output with shape \[5\] doesn't match the broadcast shape \[2, 5\]/,
  ],
  [
    'a loss whose parabola ends below 0',
    () => smoothL1Loss(ones([2]), ones([2]), { beta: -1 }),
    'invalid-argument',
    /does not support negative values for beta/,
  ],
  [
    'limits without a bound',
    () => (ones([2]) as unknown as { clamp(): Tensor }).clamp(),
    'invalid-argument',
    /At least one of 'min' or 'max' must not be None/,
  ],
  [
    'floats added to integers at indices',
    () => zeros([2], { dtype: 'int64' }).indexAdd(0, long(1), ones([1])),
    'dtype-mismatch',
    /index_add\(\): expected dtype int64 for `source` but got dtype float32/,
  ],
  [
    'a view of negative size',
    () => ones([6]).asStrided([-1, 2], [1, 2]),
    'invalid-argument',
    /do not describe a view/,
  ],
  [
    'a weight for some classes beside probabilities',
    () => crossEntropy(ones([2, 3]), ones([2, 3]), { weight: ones([1]) }),
    'shape-mismatch',
    /cross_entropy: weight tensor should be defined either for all 3 classes or no classes/,
  ],
  [
    'a target of logits that would be broadcast',
    () => binaryCrossEntropyWithLogits(ones([5, 1]), ones([5])),
    'shape-mismatch',
    /Target size \(\[5\]\) must be the same as input size \(\[5, 1\]\)/,
  ],
  [
    'a float target',
    () => crossEntropy(ones([2, 3]), ones([2])),
    'dtype-mismatch',
    /expected scalar type Long/,
  ],
  [
    'a reduction that is none',
    () => nllLoss(ones([2, 3]), long(0, 1), { reduction: 'avg' as 'mean' }),
    'invalid-argument',
    /not a valid value for reduction/,
  ],
  [
    'too few arguments',
    () => callOp(getOp('aten::mm'), [ones([2, 2])]),
    'schema-arguments',
    /takes 2 arguments \(self, mat2\), got 1/,
  ],
  ...(
    [
      ['the name of one', 'aten::mm'],
      ['nothing', null],
      ['an object', {}],
    ] as const
  ).map((entry): (typeof cases)[number] => [
    `${entry[0]} for an operator`,
    () => callOp(entry[1] as never, [ones([2, 2])]),
    'schema-arguments',
    /the operator must be what getOp returns, not /,
  ]),
  ...([ones([2, 2]), null, undefined, 3] as const).map((args): (typeof cases)[number] => [
    `${String(args).slice(0, 9)} for a list of arguments`,
    () => callOp(getOp('aten::relu'), args as never),
    'schema-arguments',
    /the arguments must be an array, not /,
  ]),
  [
    'a number for the name of an operator',
    () => getOp(3 as never),
    'op-unknown',
    /There is no operator 3/,
  ],
  [
    'an argument of the wrong kind',
    () => callOp(getOp('aten::mm'), [ones([2, 2]), 3]),
    'schema-arguments',
    /argument 'mat2' must be Tensor, not number 3/,
  ],
  ...(['neg', 'relu', 'add.Tensor'] as const).flatMap((name) =>
    [5, true].map((value): (typeof cases)[number] => [
      `${name} of ${value} without a tensor`,
      () => callOp(getOp(`aten::${name}`), name === 'add.Tensor' ? [value, 2, 1] : [value]),
      'schema-arguments',
      /must be Tensor, not (number 5|boolean true)/,
    ]),
  ),
  [
    'a tensor in the place of a list of tensors',
    () => cat(ones([2]) as never),
    'schema-arguments',
    /argument 'tensors' must be Tensor\[\], not a float32 tensor of shape \[2\]/,
  ],
  [
    'a dtype by a name that objects inherit',
    () => ones([2], { dtype: 'constructor' as never }),
    'schema-arguments',
    /argument 'dtype' must be/,
  ],
  [
    'an operator that does not exist',
    () => getOp('aten::ad.Tensor'),
    'op-unknown',
    /There is no operator aten::ad\.Tensor/,
  ],
  ['ragged nested arrays', () => tensor([[1, 2], [3]]), 'shape-mismatch', /must be rectangular/],
];

describe('bad input', () => {
  it.each(cases)('%s is a clear error', (_what, call, code, message) => {
    let caught: unknown;
    try {
      call();
    } catch (error) {
      caught = error;
    }
    expect(isTesseraError(caught)).toBe(true);
    expect((caught as { code: string }).code).toBe(code);
    expect((caught as Error).message).toMatch(message);
    expect((caught as { hints: string[] }).hints.length).toBeGreaterThan(0);
    // No input corrupts a later call.
    expect(ones([2]).add(1).toArray()).toEqual([2, 2]);
  });

  it('lets NaN and infinity pass as values', () => {
    const x = tensor([NaN, Infinity, -Infinity, 1]);
    expect(x.relu().toArray()).toEqual([NaN, Infinity, 0, 1]);
    expect(x.max().item()).toBeNaN();
    expect(x.isfinite().toArray()).toEqual([false, false, false, true]);
    expect(x.softmax(0).isnan().all().item()).toBe(1);
  });
});

describe('numbers in the place of tensors', () => {
  const x = ones([2, 2]);
  it.each<[string, unknown[], string]>([
    ['matmul', [2, x], "argument 'self' must be Tensor, not number 2"],
    ['linear', [2, x, null], "argument 'input' must be Tensor, not number 2"],
    ['isclose', [2, 3, 1e-5, 1e-8, false], "argument 'self' must be Tensor, not number 2"],
    ['ldexp.Tensor', [x, 2], "argument 'other' must be Tensor, not number 2"],
    ['kron', [x, 2], "argument 'other' must be Tensor, not number 2"],
    ['cross_entropy_loss', [x, 1, null, 1, -100, 0], "'target' must be Tensor, not number 1"],
    ['nansum', [3, null, false, null], "argument 'self' must be Tensor, not number 3"],
    ['roll', [x, 1, 0], "argument 'shifts' must be int[], not number 1"],
  ])('%s says which argument it is', (name, args, text) => {
    expect(() => callOp(getOp(`aten::${name}`), args)).toThrow(text);
  });
});
