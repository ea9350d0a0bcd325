import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  registerPytreeNode,
  treeFlatten,
  treeLeaves,
  treeMap,
  treePaths,
  treeSpecDifference,
  treeSpecEqual,
  treeUnflatten,
} from '../src/index.js';
import type { TreeSpec } from '../src/index.js';
import { RandomSource, testSeed } from './random-source.js';
import { thrownBy } from './thrown-by.js';

class Point {
  constructor(
    readonly x: unknown,
    readonly y: unknown,
    readonly unit: string,
  ) {}
}
registerPytreeNode(Point, {
  flatten: (point) => ({ children: [point.x, point.y], context: { unit: point.unit } }),
  unflatten: ([x, y], { unit }) => new Point(x, y, unit),
  accessor: (_, index) => (index === 0 ? '.x' : '.y'),
});

const specOf = (value: unknown): TreeSpec => treeFlatten(value).spec;

describe('treeFlatten', () => {
  it('gives leaves depth first: arrays, records in insertion order, Maps, registered classes', () => {
    const value = {
      b: [1, 'two'],
      a: new Map<unknown, unknown>([
        ['k', null],
        [7, undefined],
      ]),
      p: new Point(3, [4], 'cm'),
    };
    const { leaves, spec } = treeFlatten(value);
    expect(leaves).toEqual([1, 'two', null, undefined, 3, 4]);
    expect(spec.numLeaves).toBe(6);
    expect(treeUnflatten(leaves, spec)).toEqual(value);
  });

  it('treats everything else as a leaf', () => {
    class Unregistered {}
    class PointChild extends Point {}
    const leaves = [
      new Unregistered(),
      new PointChild(1, 2, 'm'),
      () => 1,
      new Float32Array(2),
      new Set([1]),
      new Date(0),
      Symbol('s'),
      5n,
    ];
    expect(treeLeaves(leaves)).toEqual(leaves);
  });

  it('lets the caller declare containers to be leaves', () => {
    const { leaves } = treeFlatten(
      [[1, 2], [[3]]],
      (value) => Array.isArray(value) && value.length === 1,
    );
    expect(leaves).toEqual([1, 2, [[3]]]);
  });

  it('accepts a bare leaf, empty containers, null prototypes and objects of another realm', () => {
    expect(treeFlatten(5)).toEqual({ leaves: [5], spec: { kind: 'leaf', numLeaves: 1 } });
    expect(treeUnflatten([], specOf([{}, [], new Map()]))).toEqual([{}, [], new Map()]);
    expect(treeLeaves(Object.assign(Object.create(null) as object, { a: 1 }))).toEqual([1]);
    expect(treeLeaves(runInNewContext('({ a: 1, b: { c: 2 } })'))).toEqual([1, 2]);
  });

  it('keeps a key named __proto__ an ordinary key', () => {
    const value: unknown = JSON.parse('{"__proto__": {"polluted": 1}}');
    const { leaves, spec } = treeFlatten(value);
    const back = treeUnflatten(leaves, spec) as object;
    expect(Object.keys(back)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
  });

  it('reports a structure that contains itself, with the path', () => {
    const layer: { inputs: unknown[] } = { inputs: [1] };
    layer.inputs.push(layer);
    const error = thrownBy(() => treeFlatten([0, layer]));
    expect(error.code).toBe('pytree-cycle');
    expect(error.message).toContain('[1].inputs[1]');
  });

  it('allows the same object at two places', () => {
    const shared = [1];
    expect(treeLeaves([shared, { shared }])).toEqual([1, 1]);
  });

  it('handles 100,000 levels without overflowing the stack', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { deep };
    const { leaves, spec } = treeFlatten(deep);
    expect(leaves).toEqual([1]);
    expect(treeSpecEqual(spec, specOf(treeUnflatten(leaves, spec)))).toBe(true);
  });
});

describe('treeUnflatten and treeMap', () => {
  it('need as many leaves as the structure has', () => {
    const error = thrownBy(() => treeUnflatten([1], specOf([1, 2])));
    expect(error.code).toBe('pytree-mismatch');
    expect(error.message).toContain('2 leaves, but 1 were given');
  });

  it('map every leaf and keep the structure', () => {
    const doubled = treeMap((leaf) => (leaf as number) * 2, {
      a: [1, 2],
      p: new Point(3, 4, 'cm'),
    });
    expect(doubled).toEqual({ a: [2, 4], p: new Point(6, 8, 'cm') });
  });

  it('restore any nested value', () => {
    const seed = testSeed();
    const random = new RandomSource(seed);
    const build = (depth: number): unknown => {
      const width = random.integer(0, 3);
      const children = depth === 0 ? [] : Array.from({ length: width }, () => build(depth - 1));
      switch (depth === 0 ? 9 : random.integer(0, 4)) {
        case 0:
          return children;
        case 1:
          return Object.fromEntries(children.map((child, i) => [`k${i}`, child]));
        case 2:
          return new Map(children.map((child, i) => [i, child]));
        case 3:
          return new Point(children[0], children, 'mm');
        default:
          return random.pick([1, 'text', null, undefined, true]);
      }
    };
    for (let round = 0; round < 300; round++) {
      const value = build(5);
      const { leaves, spec } = treeFlatten(value);
      expect(treeUnflatten(leaves, spec), `seed ${seed}, round ${round}`).toEqual(value);
      expect(treePaths(spec)).toHaveLength(leaves.length);
    }
  });
});

describe('treeSpecEqual', () => {
  it('compares structure and not leaves', () => {
    expect(treeSpecEqual(specOf({ a: [1, 2] }), specOf({ a: ['x', null] }))).toBe(true);
  });

  it.each<[string, unknown, unknown, string]>([
    [
      'another length',
      [1, [2, 3]],
      [1, [2]],
      'expected an array of length 2, got an array of length 1 at [1]',
    ],
    [
      'another key',
      { a: { b: 1 } },
      { a: { c: 1 } },
      'expected a record with keys {b}, got a record with keys {c} at .a',
    ],
    [
      'another order of keys, which would permute the leaves',
      { a: 1, b: 2 },
      { b: 2, a: 1 },
      'expected a record with keys {a, b}, got a record with keys {b, a} at the top',
    ],
    [
      'a leaf instead of a container',
      [[1]],
      [1],
      'expected an array of length 1 at [0], got a leaf',
    ],
    [
      'a container instead of a leaf',
      [1],
      [{ a: 1 }],
      'expected a leaf at [0], got a record with keys {a}',
    ],
    [
      'a record instead of a Map',
      new Map([['a', 1]]),
      { a: 1 },
      'expected a Map with keys {a} at the top, got a record with keys {a}',
    ],
    [
      'another Map key',
      new Map([[1, 1]]),
      new Map([['1', 1]]),
      'expected a Map with keys {1}, got a Map with keys {1} at the top',
    ],
    [
      'another context of a class',
      new Point(1, 2, 'cm'),
      new Point(1, 2, 'km'),
      'expected the same Point context at the top',
    ],
  ])('names %s', (_, expected, got, words) => {
    expect(treeSpecDifference(specOf(expected), specOf(got))).toBe(words);
    expect(treeSpecEqual(specOf(expected), specOf(got))).toBe(false);
  });

  it('compares contexts by value, or as the class says', () => {
    expect(treeSpecEqual(specOf(new Point(1, 2, 'cm')), specOf(new Point(3, 4, 'cm')))).toBe(true);
    class Tagged {
      constructor(
        readonly item: unknown,
        readonly tag: string,
      ) {}
    }
    registerPytreeNode(Tagged, {
      flatten: ({ item, tag }) => ({ children: [item], context: tag }),
      unflatten: ([item], tag) => new Tagged(item, tag),
      contextEqual: (a, b) => a.toLowerCase() === b.toLowerCase(),
    });
    expect(treeSpecEqual(specOf(new Tagged(1, 'A')), specOf(new Tagged(1, 'a')))).toBe(true);
    expect(treeSpecEqual(specOf(new Tagged(1, 'A')), specOf(new Tagged(1, 'b')))).toBe(false);
    expect(treePaths(specOf(new Tagged(1, 'A')))).toEqual(['[0]']);
  });
});

describe('treePaths', () => {
  it('gives the accessor of every leaf as source text', () => {
    const value = [{ weight: 1, 'a b': [2] }, new Map([['x', 3]]), new Point(4, 5, 'cm')];
    expect(treePaths(specOf(value))).toEqual([
      '[0].weight',
      '[0]["a b"][0]',
      '[1].get("x")',
      '[2].x',
      '[2].y',
    ]);
    expect(treePaths(specOf(1))).toEqual(['']);
  });
});

it('the built-in containers cannot be registered again', () => {
  const error = thrownBy(() =>
    registerPytreeNode(Map, {
      flatten: () => ({ children: [], context: 0 }),
      unflatten: () => new Map(),
    }),
  );
  expect(error.code).toBe('invalid-argument');
});
