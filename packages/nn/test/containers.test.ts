/**
 * @file Editing containers as PyTorch 2.13 does: `insert`, `pop`, `extend`, `delete`, `set`, slices, iteration.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import { type Tensor, ones, tensor } from '@tessera/tensor';
import {
  GELU,
  Linear,
  ModuleDict,
  ModuleList,
  Parameter,
  ParameterDict,
  ParameterList,
  ReLU,
  Sequential,
  Sigmoid,
  Tanh,
  type TensorModule,
  cloneModule,
} from '../src/index.js';
import type { Module } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

const kinds = (list: Iterable<Module>): string[] => [...list].map((m) => m.constructor.name);
const names = (module: Module): string[] => module.namedChildren().map(([name]) => name);
const named = (): Sequential => new Sequential({ a: new ReLU(), b: new Tanh(), c: new GELU() });

describe.each([
  ['Sequential', (...list: TensorModule[]) => new Sequential(...list)],
  ['ModuleList', (...list: TensorModule[]) => new ModuleList(list)],
] as const)('%s', (_name, make) => {
  it('inserts, also before a negative position and at the end', () => {
    const list = make(new ReLU(), new Tanh());
    expect(kinds(list.insert(1, new GELU()))).toEqual(['ReLU', 'GELU', 'Tanh']);
    expect(kinds(list.insert(3, new Linear(1, 1)))).toEqual(['ReLU', 'GELU', 'Tanh', 'Linear']);
    expect(kinds(list.insert(-1, new Sigmoid()))).toEqual([
      'ReLU',
      'GELU',
      'Tanh',
      'Sigmoid',
      'Linear',
    ]);
    expect(Object.keys(list.stateDict())).toEqual(['4.weight', '4.bias']);
    expect(list.length).toBe(5);
  });

  it('takes away', () => {
    const list = make(new ReLU(), new Tanh(), new GELU());
    const [first, , last] = [...list];
    expect(list.pop()).toBe(last);
    expect(list.pop(0)).toBe(first);
    expect([kinds(list), names(list)]).toEqual([['Tanh'], ['0']]);
    expect(kinds(list.delete(-1))).toEqual([]);
    expect(() => list.pop()).toThrow('index -1 is out of range');
  });

  it('extends, sets and slices', () => {
    const list = make(new ReLU()).extend([new Tanh(), new GELU()]).append(new Sigmoid());
    expect(kinds(list)).toEqual(['ReLU', 'Tanh', 'GELU', 'Sigmoid']);
    expect(kinds(list.slice(1, 3))).toEqual(['Tanh', 'GELU']);
    expect(kinds(list.slice(-2))).toEqual(['GELU', 'Sigmoid']);
    expect(list.slice(1, 3).at(0)).toBe(list.at(1));
    expect(list.slice().constructor).toBe(list.constructor);
    expect(kinds(list.slice(9))).toEqual([]);
    expect(kinds(list.set(-1, new ReLU()))).toEqual(['ReLU', 'Tanh', 'GELU', 'ReLU']);
    expect(kinds(list.extend(list))).toHaveLength(8);
  });

  it('refuses what does not fit, and stays what it was', () => {
    const list = make(new ReLU(), new Tanh());
    const bad = 5 as unknown as TensorModule;
    for (const run of [
      () => list.insert(3, new ReLU()),
      () => list.insert(-3, new ReLU()),
      () => list.delete(2),
      () => list.pop(-3),
      () => list.set(2, new ReLU()),
      () => list.at(2),
    ])
      expect(run).toThrow('is out of range');
    expect(() => list.insert(0, bad)).toThrow("'0' is number, not a module.");
    expect(() => list.append(bad)).toThrow("'2' is number, not a module.");
    expect(() => list.set(0, bad)).toThrow("'0' is number, not a module.");
    expect(kinds(list)).toEqual(['ReLU', 'Tanh']);
  });
});

describe('names', () => {
  it('of a slice and of what is set stay', () => {
    expect(names(named().slice(1))).toEqual(['b', 'c']);
    expect(names(new Sequential(new ReLU(), new Tanh(), new GELU()).slice(1, 3))).toEqual([
      '1',
      '2',
    ]);
    const list = named().set(1, new Sigmoid());
    expect([names(list), kinds(list)]).toEqual([
      ['a', 'b', 'c'],
      ['ReLU', 'Sigmoid', 'GELU'],
    ]);
  });

  it('are numbers after one is taken away', () => {
    const list = named();
    list.pop(1);
    expect([names(list), kinds(list)]).toEqual([
      ['0', '1'],
      ['ReLU', 'GELU'],
    ]);
  });

  it('stay after one is added to others, which is the last under its number', () => {
    const list = named().append(new Sigmoid());
    const expected = [
      ['a', 'b', 'c', '3'],
      ['ReLU', 'Tanh', 'GELU', 'Sigmoid'],
    ];
    for (const same of [list, list.slice(), cloneModule(list)])
      expect([names(same), kinds(same)]).toEqual(expected);
    for (const part of [list, list.slice(1)])
      expect(part.call(tensor([-1])).item()).toBeCloseTo(part === list ? 0.5 : 0.457614, 6);
    list.extend([new ReLU(), new Linear(1, 1)]);
    expect(names(list)).toEqual(['a', 'b', 'c', '3', '4', '5']);
    expect([...list.namedParameters()].map(([name]) => name)).toEqual(['5.weight', '5.bias']);
    expect(names(list.set(3, new Tanh()))).toEqual(['a', 'b', 'c', '3', '4', '5']);
    expect(names(list.insert(0, new Tanh()))).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    expect(names(list.append(new Tanh()))).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
  });

  it('keep their order in compiled functions', () => {
    const list = named();
    const { call } = compileForTest((x: Tensor) => list.call(x));
    const x = tensor([-1, 2]);
    const edits = [
      () => list,
      () => list.append(new Sigmoid()),
      () => list.append(new Linear(2, 2)),
      () => list.delete(0),
    ];
    for (const edit of edits) {
      edit();
      expect(call(x).toArray()).toEqual(list.call(x).toArray());
    }
  });

  it('are numbers after one is added to a slice that has its number', () => {
    const cut = new Sequential(new ReLU(), new Tanh(), new GELU()).slice(1).append(new ReLU());
    expect([names(cut), kinds(cut)]).toEqual([
      ['0', '1', '2'],
      ['Tanh', 'GELU', 'ReLU'],
    ]);
  });

  it('are typed', () => {
    const list = new ModuleList([new Linear(1, 1)]);
    expectTypeOf(list.pop()).toEqualTypeOf<Linear>();
    expectTypeOf(list.slice(0, 1)).toEqualTypeOf<ModuleList<Linear>>();
    expectTypeOf(new Sequential(new ReLU()).pop()).toEqualTypeOf<TensorModule>();
  });
});

it('ModuleDict', () => {
  const dict = new ModuleDict({ a: new ReLU(), b: new Tanh() });
  const [a] = dict.values();
  expect(dict.pop('a')).toBe(a);
  expect([dict.size, dict.keys(), dict.has('a')]).toEqual([1, ['b'], false]);
  dict
    .update({ c: new GELU() })
    .update([['d', new Sigmoid()]])
    .update(new ModuleDict({ b: new ReLU() }));
  expect(dict.entries().map(([name, m]) => `${name} ${m.constructor.name}`)).toEqual([
    'b ReLU',
    'c GELU',
    'd Sigmoid',
  ]);
  expect([...dict].map(([name]) => name)).toEqual(['b', 'c', 'd']);
  expect(dict.delete('c').keys()).toEqual(['b', 'd']);
  expect(() => dict.pop('zz')).toThrow("ModuleDict has no module 'zz'.");
  expect(() => dict.delete('zz')).toThrow("ModuleDict has no module 'zz'.");
  expect(() => dict.update(3 as never)).toThrow('ModuleDict: an object is expected.');
  expect(() => dict.update({ entries: new ReLU() })).toThrow("a module cannot be called 'entries'");
  expect(dict.clear().size).toBe(0);
});

it('ParameterList', () => {
  const list = new ParameterList([ones([1]), ones([2]), ones([3])]);
  const shared = list.at(1);
  expect(list.slice(1).at(0)).toBe(shared);
  expect(list.slice(-2, -1).length).toBe(1);
  list
    .set(0, tensor([7]))
    .insert(1, shared)
    .append(shared);
  expect([...list].map(({ sizes }) => sizes)).toEqual([[1], [2], [2], [3], [2]]);
  expect(list.length).toBe(5);
  expect(list.at(0)).toBeInstanceOf(Parameter);
  expect(list.pop().sizes).toEqual([2]);
  expect(list.delete(0).length).toBe(3);
  expect(Object.keys(list.stateDict())).toEqual(['0', '1', '2']);
  expect(() => list.insert(4, ones([1]))).toThrow('index 4 is out of range');
});

it('lists whose entries come in order remember no order of their own', () => {
  const list = new ModuleList([new ReLU(), new ReLU()]).append(new ReLU());
  const dict = new ModuleDict({ a: new ReLU(), b: new ReLU() });
  expect([list._last, dict._last]).toEqual([undefined, undefined]);
});

it('dicts keep the order in which entries came, also where names are numbers', () => {
  const dict = new ModuleDict<Module>([
    ['b', new ReLU()],
    ['16', new Tanh()],
    ['8', new GELU()],
  ]);
  expect(dict.keys()).toEqual(['b', '16', '8']);
  dict.set('16', new Sigmoid()).set('a', new ReLU()).set('4', new ReLU());
  expect(dict.keys()).toEqual(['b', '16', '8', 'a', '4']);
  dict.delete('16').set('16', new ReLU());
  expect(dict.keys()).toEqual(['b', '8', 'a', '4', '16']);
  expect(cloneModule(dict).keys()).toEqual(dict.keys());
  expect(dict.clear().set('2', new ReLU()).set('1', new ReLU()).keys()).toEqual(['2', '1']);
});

it('a ParameterDict takes the parameters of a record in the order of their names, as PyTorch those of a dict', () => {
  const record = { b: ones([1]), a: ones([2]), 10: ones([3]), 9: ones([4]) };
  const dict = new ParameterDict(record);
  expect(dict.keys()).toEqual(['10', '9', 'a', 'b']);
  expect(dict.parameters().map(({ sizes }) => sizes)).toEqual([[3], [4], [2], [1]]);
  expect(
    dict
      .update({ d: ones([1]), c: ones([1]) })
      .keys()
      .slice(4),
  ).toEqual(['c', 'd']);
  expect(new ParameterDict(Object.entries(record).toReversed()).keys()).toEqual([
    'a',
    'b',
    '10',
    '9',
  ]);
  expect(new ParameterDict(dict).keys()).toEqual(dict.keys());
});

it('ParameterDict', () => {
  const dict = new ParameterDict({ a: ones([1]), b: ones([2]) });
  const [a] = dict.values();
  expect(dict.pop('a')).toBe(a);
  expect(dict.setdefault('b', ones([9])).sizes).toEqual([2]);
  expect(dict.setdefault('c', ones([9])).sizes).toEqual([9]);
  expect(dict.update(new ParameterDict({ d: ones([4]) })).keys()).toEqual(['b', 'c', 'd']);
  expect(() => dict.pop('a')).toThrow("ParameterDict has no parameter 'a'.");
  const copy = dict.copy();
  const [name, last] = copy.popitem();
  expect([name, last === dict.get('d'), copy.keys()]).toEqual(['d', true, ['b', 'c']]);
  expect([copy.get('b') === dict.get('b'), copy.get('d', null)]).toEqual([true, null]);
  expectTypeOf(copy.get('d', null)).toEqualTypeOf<Parameter | null>();
  expect(() => new ParameterDict().popitem()).toThrow('the dict is empty');
  expect(dict.delete('b').clear().size).toBe(0);
});
