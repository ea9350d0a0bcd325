/**
 * @file What a skipped call of a pure function, and an exported graph, give back: values of this call, never of the
 * one that was captured.
 */
import { exportFromJson, exportToJson } from '@tessera/graph';
import { type Tensor, fromTypedArray, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type AnyFunction, exportGraph } from '../src/index.js';
import { compileEager } from './compile-for-test.js';

const vector = (from = 1): Tensor => tensor([from, from + 1]);

type Way = readonly [name: string, make: (fn: AnyFunction, args: () => unknown[]) => AnyFunction];

const WAYS: readonly Way[] = [
  ['pure', (fn) => compileEager(fn, { pure: true }).call],
  ['export', (fn, args) => exportGraph(fn, args() as never[]).call as AnyFunction],
  [
    'export as JSON',
    (fn, args) =>
      exportFromJson(
        JSON.parse(JSON.stringify(exportToJson(exportGraph(fn, args() as never[])))) as never,
      ).call as AnyFunction,
  ],
];

function numbers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(numbers);
  return (value as Tensor).toArray();
}

/** Programs that make tensors of numbers. */
const LITERALS: Record<string, (x: Tensor) => Tensor | readonly Tensor[]> = {
  'is returned': (x) => [x.mul(2), tensor([1, 2])],
  'is added to': (x) => tensor([0, 0]).add_(x),
  'is added to, and then read': (x) => x.add(tensor([0, 0]).add_(1)),
  'of a typed array is added to': (x) => fromTypedArray(new Float32Array(2), [2]).add_(x),
  'is written in part': (x) => {
    const table = tensor([
      [0, 0],
      [0, 0],
    ]);
    table.select(0, 1).copy_(x);
    return table;
  },
  'is a number': (x) => tensor(0).add_(x.sum()),
  'shares memory with a second result': (x) => {
    const all = tensor([3, 4]);
    return [all, all.detach().mul_(x)];
  },
  'takes gradients': (x) => {
    const w = tensor([1, 2], { requiresGrad: true });
    w.mul(x).sum().backward();
    return w.grad!;
  },
};

describe.each(WAYS)('a tensor made of numbers (%s)', (_, make) => {
  it.each(Object.entries(LITERALS))('that %s is made anew in each call', (__, program) => {
    const call = make(program as AnyFunction, () => [vector()]) as (x: Tensor) => Tensor | Tensor[];
    for (const from of [1, 5, 2]) {
      const result = call(vector(from));
      expect(numbers(result)).toEqual(numbers(program(vector(from))));
      for (const part of [result].flat()) if (!part.requiresGrad) part.add_(100);
    }
  });
});

describe.each(WAYS)('a part of the result that no operator reads (%s)', (way, make) => {
  it('is the argument of this call', () => {
    const call = make(((x: Tensor, y: Tensor) => [x.mul(2), y]) as AnyFunction, () => [
      vector(),
      vector(),
    ]) as (x: Tensor, y: Tensor) => Tensor[];
    call(vector(), vector());
    const y = vector(7);
    expect(call(vector(), y)[1]).toBe(y);
  });

  it('is what an argument of this call holds', () => {
    const call = make(
      ((o: { x: Tensor; y: Tensor[] }) => [o.x.mul(2), o.y[0]]) as AnyFunction,
      () => [{ x: vector(), y: [vector()] }],
    ) as (o: { x: Tensor; y: Tensor[] }) => Tensor[];
    call({ x: vector(), y: [vector()] });
    const y = vector(7);
    expect(call({ x: vector(), y: [y] })[1]).toBe(y);
  });

  it('may be a tensor of the closure', () => {
    const known = vector(3);
    const call = make(((x: Tensor) => [x.mul(2), known]) as AnyFunction, () => [vector()]) as (
      x: Tensor,
    ) => Tensor[];
    call(vector());
    expect(call(vector())[1]!.toArray()).toEqual([3, 4]);
    if (way !== 'export as JSON') expect(call(vector())[1]).toBe(known);
  });
});

describe.each(WAYS)('a result that cannot be made again (%s)', (_, make) => {
  class Output {
    constructor(readonly value: Tensor) {}
  }
  const shared = new Output(vector());
  it.each<[string, (x: Tensor) => unknown]>([
    ['a function', (x) => (): Tensor => x.mul(2)],
    ['a set', (x) => new Set([x.mul(2)])],
    ['an object of a class', (x) => [new Output(x.mul(2))]],
    ['an iterator', (x) => [x.mul(2)].values()],
    ['a typed array', (x) => [x.mul(2), new Float32Array(2)]],
    ['an object of the closure', (x) => [x.mul(2), shared]],
  ])('is refused: %s', (__, program) => {
    expect(() => {
      const call = make(program as AnyFunction, () => [vector()]) as (x: Tensor) => unknown;
      call(vector());
    }).toThrow(expect.objectContaining({ code: 'pure-side-effect' }));
  });
});

describe('exported graphs', () => {
  it.each<[string, () => (x: Tensor) => Tensor]>([
    [
      'write through a view',
      () => {
        const all = tensor([0, 0, 0]);
        const part = all.slice(0, 1, 3);
        return (x) => {
          part.add_(1);
          return x.add(all);
        };
      },
    ],
    [
      'have strides of their own',
      () => {
        const table = tensor([
          [1, 2, 3],
          [4, 5, 6],
          [7, 8, 9],
        ]).t();
        return (x) => x.add(table);
      },
    ],
    [
      'repeat one element',
      () => {
        const one = tensor([2], { dtype: 'int64' }).expand([3]);
        return (x) => x.mul(one);
      },
    ],
  ])('keep tensors of the closure that %s, as JSON too', (_, make) => {
    const program = make();
    const exported = exportGraph(program, [ones([3])]);
    const read = exportFromJson(JSON.parse(JSON.stringify(exportToJson(exported))) as never);
    const direct = make();
    for (let i = 0; i < 3; i++) {
      const x = tensor([i, 1, 2]);
      const expected = direct(x);
      for (const graph of [exported, read]) {
        const result = graph.call(x) as Tensor;
        expect(result.toArray()).toEqual(expected.toArray());
        expect(result.strides).toEqual(expected.strides);
      }
    }
  });

  it('take one tensor for two arguments only where they did at export', () => {
    const both = vector();
    const exported = exportGraph((x: Tensor, y: Tensor) => x.add(y), [both, both]);
    const x = vector(5);
    expect((exported.call(x, x) as Tensor).toArray()).toEqual([10, 12]);
    expect(() => exported.call(vector(5), vector(7))).toThrow(
      expect.objectContaining({ code: 'export-guard' }),
    );
  });
});
