/** @file Arguments in the place of options, entries that are none, and arguments that are missing: never ignored, never a plain TypeError. */
import { TesseraError } from '@tessera/shared';
import { ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as nn from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const { functional: F } = nn;
const x = ones([2, 3]);
const params = (): nn.Parameter[] => [new nn.Parameter(ones([1]))];

// Types forbid these calls.
describe('is an error that says what to write', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a rate by position',
      () => new nn.optim.AdamW(params(), 0.1 as never),
      'new AdamW(…, { lr: 0.1 })',
    ],
    [
      'weights of classes by position, which are the first option',
      () => F.crossEntropy(x, tensor([0, 1]), ones([3]) as never),
      'Write crossEntropy(…, { weight: … })',
    ],
    [
      'a margin by position',
      () => F.tripletMarginLoss(x, x, x, 0.5 as never),
      'Write tripletMarginLoss(…, { margin: 0.5 })',
    ],
    [
      'a flag of InstanceNorm',
      () => new nn.InstanceNorm2d(3, true as never),
      'options are an object, not true',
    ],
    [
      'a size of a lazy one',
      () => new nn.LazyInstanceNorm1d(3 as never),
      'options are an object, not 3',
    ],
    [
      'a module that is null',
      () => new nn.Sequential(null as never),
      "'0' is object, not a module",
    ],
    [
      'entries without names',
      () => new nn.ModuleDict([new nn.ReLU()] as never),
      'an object is expected',
    ],
    ['parameters without names', () => new nn.ParameterDict([x] as never), 'an object is expected'],
    [
      'no variance',
      () => F.gaussianNllLoss(x, x, undefined as never),
      "'variance' must be Tensor, not undefined",
    ],
    [
      'no target',
      () => F.multilabelSoftMarginLoss(x, null as never),
      "'target' must be Tensor, not null",
    ],
    [
      'no negative',
      () => F.tripletMarginWithDistanceLoss(x, x, { margin: 1 } as never),
      "'negative' must be Tensor",
    ],
    ['no classes', () => F.linearCrossEntropy(x, x, undefined as never), "'target' must be Tensor"],
    [
      'no places',
      () => F.maxUnpool2d(ones([1, 1, 2, 2]), undefined as never, 2),
      'indices and a kernel size are needed',
    ],
    [
      'no kernel',
      () => F.maxUnpool2d(ones([1, 1, 2, 2]), ones([1, 1, 2, 2]), undefined as never),
      'indices and a kernel size are needed',
    ],
    ['no image', () => F.affineGrid(ones([1, 2, 3]), undefined as never), 'size [N, C, H, W]'],
    [
      'no weights of attention',
      () => F.multiHeadAttention(x, x, x, undefined as never),
      'inProjWeight and outProjWeight are needed',
    ],
    [
      'no lengths',
      () => F.ctcLoss(ones([4, 2, 3]), ones([2, 2]), undefined as never, [2, 2]),
      'inputLengths must be a tensor or an array',
    ],
    ['a switch for a dimension', () => x.argmax(true as never), "'dim' must be int or null"],
    ['no window', () => F.lpPool2d(x, 2, undefined as never), 'kernel_size must be'],
  ])('%s', (_name, call, message) => {
    const error = thrownBy(call);
    expect(error).toBeInstanceOf(TesseraError);
    expect((error as Error).message).toContain(message);
  });
});
