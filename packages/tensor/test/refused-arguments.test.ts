/** @file Arguments that programs ported from PyTorch pass by mistake: errors that say what to write, never a result. */
import { describe, expect, it } from 'vitest';
import { TesseraError } from '@tessera/shared';
import {
  Function as Custom,
  type FunctionContext,
  type Tensor,
  equal,
  eye,
  full,
  manualSeed,
  oneHot,
  ones,
  searchsorted,
  tensor,
  where,
  zeros,
} from '../src/index.js';
import { asStridedScatter } from '../src/internal.js';

/** The error of a call, with its hints. */
function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(TesseraError);
    return (error as TesseraError).message;
  }
  throw new Error('nothing was thrown');
}

/** Types forbid these calls. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
const x = ones([2, 3]) as any;
const index = tensor([[0, 1]], { dtype: 'int64' });

describe('what no operator knows', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['a rounding', () => x.div(2, { roundingMode: 'up' }), /'floor', 'trunc'/],
    ['a rounding in place', () => x.clone().div_(2, { roundingMode: 'up' }), /'floor', 'trunc'/],
    ['a reduction of scatter', () => x.scatter(0, index, x, { reduce: 'add' }), /scatterReduce/],
    ['one in place', () => x.clone().scatter_(0, index, 1, { reduce: 'add' }), /scatterReduce/],
    ['counts that are no list', () => x.repeat(3, 5), /must be int\[\]/],
    ['places that are no list', () => x.tile(3), /must be int\[\]/],
    ['sizes that are no list', () => x.sumToSize(1, 3), /must be int\[\].*brackets/s],
    ['a number for a tensor', () => equal(x, 1 as never), /argument 'other' must be Tensor/],
    ['a dtype in an object', () => x.to({ dtype: 'float16' }), /dtype or a device.*'float16'/s],
    [
      'a dtype of PyTorch only',
      () => tensor([1], { dtype: 'uint32' as never }),
      /'uint32'.*int64/s,
    ],
    ['positions as a tuple', () => x.nonzero({ asTuple: true }), /nonzeroNumpy/],
    ['another option', () => x.nonzeroStatic({ size: 1, fill: 0 }), /no option 'fill'.*fillValue/s],
    ['a choice', () => where(index.gt(0), index.to('int8'), 300), /int8.*overflow/],
    ['a seed', () => manualSeed('a' as never), /whole number/],
    ['a seed that is no number', () => manualSeed(Number.NaN), /whole number/],
    [
      "PyTorch's name of an option of backward",
      () => x.sum().backward(null, { retain_graph: true }),
      /retainGraph/,
    ],
    [
      'a format of another rank',
      () => x.clone({ memoryFormat: 'channelsLast' }),
      /required rank 4 tensor to use channelsLast/,
    ],
    [
      'one of a volume',
      () => x.contiguous({ memoryFormat: 'channelsLast3d' }),
      /required rank 5 tensor/,
    ],
    ['no items to put at', () => x.clone().indexPut_(), /undefined is no index/],
    ['null for a dimension with a default', () => x.roll(1, null), /dims/],
    [
      'floats among what full() made of a whole number',
      () => full([2, 3], -1e9).scatterReduce(0, index, x, 'amax'),
      /full\(\[2\], 1\) holds integers/,
    ],
    ['an option for a position', () => oneHot(index, { numClasses: 3 } as never), /by position/],
  ])('%s is an error that says what to write', (_name, call, expected) => {
    expect(refusal(call)).toMatch(expected);
  });
});

describe('what lies outside', () => {
  it.each<[string, () => unknown, string, RegExp]>([
    [
      'a geometry to write to',
      () => asStridedScatter(zeros([4]), ones([2, 2]), [2, 2], [2, 2], 3),
      'shape-mismatch',
      /out of bounds for a tensor of 4 elements/,
    ],
    [
      'an element of an empty source',
      () => zeros([3]).maskedScatter(tensor([false, true, false]), zeros([0])),
      'index-out-of-range',
      /out of bounds/,
    ],
    [
      'a place of a sorter',
      () =>
        searchsorted(tensor([1, 2, 3]), tensor([2]), {
          sorter: tensor([0, 1, 3], { dtype: 'int64' }),
        }),
      'index-out-of-range',
      /searchsorted: index 3 is out of bounds for dimension with size 3/,
    ],
    [
      'a negative one',
      () =>
        searchsorted(tensor([1, 2, 3]), tensor([2]), {
          sorter: tensor([0, 1, -1], { dtype: 'int64' }),
        }),
      'index-out-of-range',
      /searchsorted: index -1 is out of bounds for dimension with size 3/,
    ],
  ])('%s is refused', (_name, call, code, expected) => {
    expect(call).toThrow(expect.objectContaining({ code }));
    expect(call).toThrow(expected);
  });

  it('leaves what fits: a mask without hits takes nothing from an empty source', () => {
    const source = zeros([0]).requiresGrad_();
    const none = tensor([false, false, false]);
    const result = ones([3]).maskedScatter(none, source);
    expect(result.toArray()).toEqual([1, 1, 1]);
    result.sum().backward();
    expect(source.grad?.sizes).toEqual([0]);
    const written = asStridedScatter(zeros([4]), ones([2]), [2], [2], 1);
    expect(written.toArray()).toEqual([0, 1, 0, 1]);
  });
});

describe('a Function', () => {
  class WithoutBackward extends Custom {
    static forward(_ctx: FunctionContext, x: Tensor): Tensor {
      return x.mul(2);
    }
  }
  class OfANumber extends Custom {
    static forward(_ctx: FunctionContext, x: Tensor): Tensor {
      return x.mul(2);
    }
    static backward(): Tensor {
      return 3 as unknown as Tensor;
    }
  }

  it('without a backward says so when gradients are asked for', () => {
    const leaf = ones([2], { requiresGrad: true });
    const y = (WithoutBackward as unknown as typeof OfANumber).apply(leaf);
    expect(refusal(() => y.sum().backward())).toMatch(/WithoutBackward.*backward/s);
  });

  it('whose backward returns no tensor says so', () => {
    const leaf = ones([2], { requiresGrad: true });
    expect(refusal(() => OfANumber.apply(leaf).sum().backward())).toMatch(/gradient.*3/s);
  });
});

it('eye takes options in the place of the columns', () => {
  expect(eye(2, { dtype: 'bool' }).toArray()).toEqual([
    [true, false],
    [false, true],
  ]);
});

describe('other names of the same methods', () => {
  const y = tensor([
    [1, -2, 3],
    [-4, 5, -6],
  ]);

  it('are methods', () => {
    expect(y.negative().toArray()).toEqual(y.neg().toArray());
    expect(y.swapaxes(0, 1).toArray()).toEqual(y.t().toArray());
    expect(y.swapdims(0, 1).toArray()).toEqual(y.t().toArray());
    expect(y.moveaxis(0, 1).toArray()).toEqual(y.t().toArray());
    expect(y.typeAs(index).dtype).toBe('int64');
    expect(y.where(y.gt(0), 0).toArray()).toEqual(y.clampMin(0).toArray());
    expect(y.tolist()).toEqual(y.toArray());
    expect(y.cpu()).toBe(y);
    expect(y.t().stride()).toEqual([1, 3]);
    expect([y.stride(0), y.stride(-1)]).toEqual([3, 1]);
    expect(y.broadcastTo([2, 2, 3]).sizes).toEqual([2, 2, 3]);
    expect(y.sumToSize([1, 3]).toArray()).toEqual([[-3, 3, -3]]);
    expect(y.sumToSize([3]).toArray()).toEqual([-3, 3, -3]);
    expect(() => y.sumToSize([2])).toThrow(/size \[2\] is not expandable to size \[2, 3\]/);
  });
});
