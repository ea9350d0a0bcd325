/**
 * @file Flags and modes are named: positional ones are refused with the call that was meant, unknown names with the
 * nearest known one, and named ones do what PyTorch's keyword arguments do.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  type ValuesAndIndices,
  inferenceMode,
  isInferenceModeEnabled,
  ones,
  tensor,
  randn,
} from '../src/index.js';
import { pinverse } from '../src/linalg.js';

const x = tensor([
  [3, 1, 2],
  [6, 5, 4],
]);
const index = tensor([0], { dtype: 'int64' });

/** Calls by position, as JavaScript may write them, and the option each of them was meant as. */
const POSITIONAL: Readonly<Record<string, readonly [args: readonly unknown[], meant: string]>> = {
  argmax: [[-1, true], 'keepdim: true'],
  argmin: [[-1, true], 'keepdim: true'],
  amax: [[-1, true], 'keepdim: true'],
  amin: [[-1, true], 'keepdim: true'],
  all: [[-1, true], 'keepdim: true'],
  any: [[-1, true], 'keepdim: true'],
  max: [[-1, true], 'keepdim: true'],
  min: [[-1, true], 'keepdim: true'],
  median: [[-1, true], 'keepdim: true'],
  nanmedian: [[-1, true], 'keepdim: true'],
  mode: [[-1, true], 'keepdim: true'],
  logsumexp: [[-1, true], 'keepdim: true'],
  sum: [[-1, true], 'keepdim: true'],
  mean: [[-1, true], 'keepdim: true'],
  kthvalue: [[1, -1], 'dim: -1'],
  topk: [[1, -1, false], 'dim: -1'],
  sort: [[-1, true], 'descending: true'],
  argsort: [[-1, true], 'descending: true'],
  softplus: [[2], 'beta: 2'],
  elu: [[2], 'alpha: 2'],
  elu_: [[2], 'alpha: 2'],
  celu: [[2], 'alpha: 2'],
  celu_: [[2], 'alpha: 2'],
  leakyRelu: [[0.2], 'negativeSlope: 0.2'],
  leakyRelu_: [[0.2], 'negativeSlope: 0.2'],
  hardtanh: [[-2, 2], 'minVal: -2'],
  hardtanh_: [[-2, 2], 'minVal: -2'],
  hardshrink: [[1], 'lambd: 1'],
  softshrink: [[1], 'lambd: 1'],
  logit: [[0.1], 'eps: 0.1'],
  logit_: [[0.1], 'eps: 0.1'],
  dropout: [[0.1], 'p: 0.1'],
  dropout_: [[0.1], 'p: 0.1'],
  dist: [[x, 1], 'p: 1'],
  put: [[index, ones([1]), true], 'accumulate: true'],
  put_: [[index, ones([1]), true], 'accumulate: true'],
  indexPut: [[[index], ones([1]), true], 'accumulate: true'],
  indexPut_: [[[index], ones([1]), true], 'accumulate: true'],
  gelu: [['tanh'], "approximate: 'tanh'"],
  quantile: [[0.5, 1], 'dim: 1'],
  std: [[0, 1], 'correction: 1'],
  div: [[x, 'floor'], "roundingMode: 'floor'"],
  add: [[x, 2], 'alpha: 2'],
};

function refusal(call: () => unknown): { message: string; hints: readonly string[] } {
  try {
    call();
  } catch (error) {
    if (isTesseraError(error)) return { message: error.message, hints: error.hints };
  }
  throw new Error('It was not refused.');
}

function method(name: string): (...args: readonly unknown[]) => unknown {
  return (x as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[name]!.bind(x);
}

describe('an option by position', () => {
  it.each(Object.entries(POSITIONAL))('of %s is refused, with the call', (name, [args, meant]) => {
    const { message, hints } = refusal(() => method(name)(...args));
    expect(message).toContain(`${name}: options are an object`);
    expect(hints[0]).toBe(`Write ${name}(…, { ${meant} }).`);
  });

  it.each(Object.entries(POSITIONAL))('of %s may not have another name', (name, [args, meant]) => {
    const option = meant.split(':')[0]!;
    const at = args.findIndex(
      (arg) => `${option}: ${typeof arg === 'string' ? `'${arg}'` : String(arg)}` === meant,
    );
    const call = (): unknown => method(name)(...args.slice(0, at), { [`${option}X`]: args[at] });
    expect(refusal(call).message).toContain(`${name} has no option '${option}X'.`);
  });

  it('is a type error', () => {
    // @ts-expect-error options are an object
    expect(() => x.argmax(-1, true)).toThrow('{ keepdim: true }');
    // @ts-expect-error options are an object
    expect(() => x.sort(-1, true)).toThrow('{ descending: true }');
    // @ts-expect-error options are an object
    expect(() => inferenceMode(() => 1, false)).toThrow('{ enabled: false }');
    // @ts-expect-error options are an object
    expect(() => pinverse(x, 1e-3)).toThrow('{ rcond: 0.001 }');
  });
});

describe('habits of Python', () => {
  it('sizes one by one are refused with the list that was meant', () => {
    // @ts-expect-error sizes are a list
    expect(refusal(() => randn(2, 3)).hints[0]).toBe(
      'Sizes are a list: randn([2, 3]), tensor(values).view([2, 3]).',
    );
  });

  it('an object in the place of a dimension is refused with the position', () => {
    // @ts-expect-error a dimension is given by position
    const { message, hints } = refusal(() => x.softmax({ dim: 1 }));
    expect(message).toContain("argument 'dim' must be int, not an object {dim}.");
    expect(hints[0]).toBe('Given by position: dim.');
  });
});

describe('named options', () => {
  const lists = ([values, indices]: ValuesAndIndices): unknown => [
    values.toArray(),
    indices.toArray(),
  ];

  it('keep reduced dimensions', () => {
    expect(x.argmax(-1, { keepdim: true }).toArray()).toEqual([[0], [0]]);
    expect(x.all(0, { keepdim: true }).shape).toEqual([1, 3]);
    expect(lists(x.min(-1, { keepdim: true }))).toEqual([
      [[1], [4]],
      [[1], [2]],
    ]);
    expect(lists(x.kthvalue(2, { dim: 0, keepdim: true }))).toEqual([[[6, 5, 4]], [[1, 1, 1]]]);
  });

  it('order', () => {
    expect(lists(x.sort(-1, { descending: true, stable: true }))).toEqual([
      [
        [3, 2, 1],
        [6, 5, 4],
      ],
      [
        [0, 2, 1],
        [0, 1, 2],
      ],
    ]);
    expect(lists(x.topk(1, { dim: 0, largest: false }))).toEqual([[[3, 1, 2]], [[0, 0, 0]]]);
  });

  it('label what they return', () => {
    const { values, indices } = named(x.sort());
    expect([values.shape, indices.dtype]).toEqual([[2, 3], 'int64']);
  });

  it('leave a scope of inference mode', () => {
    const inside = (): boolean => inferenceMode(isInferenceModeEnabled, { enabled: false });
    expect(inferenceMode(inside)).toBe(false);
    expect(inferenceMode(isInferenceModeEnabled)).toBe(true);
  });
});

/** The elements of a labelled tuple by their labels. */
function named([values, indices]: ValuesAndIndices): { values: Tensor; indices: Tensor } {
  return { values, indices };
}
