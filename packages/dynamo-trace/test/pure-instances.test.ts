/**
 * @file What a `pure` function could have read of objects that it is given is guarded, or refused.
 *
 * Each case reads something, and then that something changes: eager and compiled agree, and nothing is compiled
 * again before.
 */
import { type Tensor, tensor, track } from '@tessera/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import { compileEager, firstFailure } from './compile-for-test.js';

const x = tensor([1, 2]);
const MARK = Symbol('mark');

class Settings {
  static shared = 1;
  scale = 2;
  _hidden = 1;
  list: number[] = [1];
  extra?: number;
  [MARK]?: number;
  constructor() {
    delete this.extra;
    delete this[MARK];
  }
  twice(): number {
    return this.scale * 2;
  }
}
class Derived extends Settings {
  declare factor?: number;
  declare table: { k: number };
}
class Registry extends Map<string, number> {
  bonus = 1;
}
class Listener extends EventTarget {
  level = 1;
}
class Secret {
  #factor = 2;
  of(t: Tensor): Tensor {
    return t.mul(this.#factor);
  }
  set(value: number): void {
    this.#factor = value;
  }
  get factor(): number {
    return this.#factor;
  }
}

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

/** Changes a property until the test is over. */
function change(object: object, key: PropertyKey, value: unknown): void {
  const before = Object.getOwnPropertyDescriptor(object, key);
  undo.push(() => {
    if (before === undefined) Reflect.deleteProperty(object, key);
    else Object.defineProperty(object, key, before);
  });
  (object as Record<PropertyKey, unknown>)[key] = value;
}

const long = (n: number): number[] => Array.from({ length: n }, () => 1);

function define<T extends object>(
  make: () => T,
  read: (s: T) => number,
  alter: (s: T) => void,
): readonly [() => object, (s: never) => number, (s: never) => void] {
  return [make, read, alter];
}

const cases: Record<string, ReturnType<typeof define>> = {
  'a new field': define(
    () => new Settings(),
    (s) => ('extra' in s ? s.extra! : 1),
    (s) => (s.extra = 5),
  ),
  'a new field that is undefined': define(
    () => new Settings(),
    (s) => Object.keys(s).length,
    (s) => (s.extra = undefined),
  ),
  'a field that goes': define(
    () => new Settings(),
    (s) => s._hidden ?? 3,
    (s) => delete (s as Partial<Settings>)._hidden,
  ),
  'fields in another order': define(
    () => new Settings(),
    (s) => Object.keys(s).indexOf('scale'),
    (s) => {
      delete (s as Partial<Settings>).scale;
      s.scale = 2;
    },
  ),
  'an underscore field': define(
    () => new Settings(),
    (s) => s._hidden,
    (s) => (s._hidden = 7),
  ),
  'an underscore field of a tracked object': define(
    () => track(new Settings()),
    (s) => s._hidden,
    (s) => (s._hidden = 7),
  ),
  'a new symbol': define(
    () => new Settings(),
    (s) => s[MARK] ?? 1,
    (s) => (s[MARK] = 5),
  ),
  'a new property that is not enumerable': define(
    () => new Settings(),
    (s) => s.extra ?? 1,
    (s) => Object.defineProperty(s, 'extra', { value: 5 }),
  ),
  'a getter that appears': define(
    () => new Settings(),
    (s) => s.extra ?? 1,
    (s) => Object.defineProperty(s, 'extra', { get: () => 5 }),
  ),
  'a new value on the prototype': define(
    () => new Derived(),
    (s) => s.factor ?? 1,
    () => change(Derived.prototype, 'factor', 3),
  ),
  'a new value on the prototype above': define(
    () => new Derived(),
    (s) => s.factor ?? 1,
    () => change(Settings.prototype, 'factor', 3),
  ),
  'a value on the prototype': define(
    () => {
      change(Derived.prototype, 'factor', 2);
      return new Derived();
    },
    (s) => s.factor!,
    () => (Derived.prototype.factor = 3),
  ),
  'an object on the prototype': define(
    () => {
      change(Derived.prototype, 'table', { k: 2 });
      return new Derived();
    },
    (s) => s.table.k,
    (s) => (s.table.k = 4),
  ),
  'a method': define(
    () => new Settings(),
    (s) => s.twice(),
    () => change(Settings.prototype, 'twice', () => 9),
  ),
  'a static attribute': define(
    () => new Settings(),
    (s) => (s.constructor as typeof Settings).shared,
    () => change(Settings, 'shared', 4),
  ),
  'another class': define(
    () => new Settings(),
    (s) => (s instanceof Derived ? 2 : 1),
    (s) => Object.setPrototypeOf(s, Derived.prototype),
  ),
  'what an object inherits without a class': define(
    () => Object.create({ scale: 2 }) as { scale: number },
    (s) => s.scale,
    (s) => ((Object.getPrototypeOf(s) as { scale: number }).scale = 3),
  ),
  'a long array': define(
    () => ({ list: long(400) }),
    (s) => s.list[350]!,
    (s) => (s.list[350] = 9),
  ),
  'a long array of an instance': define(
    () => Object.assign(new Settings(), { list: long(400) }),
    (s) => s.list[350]!,
    (s) => (s.list[350] = 9),
  ),
  'a long array of records': define(
    () => ({ list: long(100).map((n) => ({ n })) }),
    (s) => s.list[90]!.n,
    (s) => (s.list[90]!.n = 9),
  ),
  'the sign of a zero in a long array': define(
    () => ({ list: long(100).map(() => 0) }),
    (s) => 1 / s.list[50]!,
    (s) => (s.list[50] = -0),
  ),
  'a name of an array': define(
    () => ({ list: [1] as number[] & { extra?: number } }),
    (s) => s.list.extra ?? 1,
    (s) => (s.list.extra = 5),
  ),
  'a hole of an array': define(
    () => ({ list: [1, undefined] }),
    (s) => (1 in s.list ? 1 : 2),
    (s) => delete s.list[1],
  ),
  'the class of an array': define(
    () => ({ list: [1] as unknown[] }),
    (s) => s.list.constructor.name.length,
    (s) => (s.list = new (class Numbers extends Array<unknown> {})(1).fill(1)),
  ),
  'a value of a Map': define(
    () => new Map([['a', 1]]),
    (s) => s.get('a')!,
    (s) => s.set('a', 4),
  ),
  'a key of a Map': define(
    () => ({ map: new Map([['a', 1]]) }),
    (s) => [...s.map.keys()][0]!.length,
    (s) => (s.map = new Map([['aa', 1]])),
  ),
  'the order of a Map': define(
    () =>
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
    (s) => [...s.values()][0]!,
    (s) => {
      s.delete('a');
      s.set('a', 1);
    },
  ),
  'an object that is a key of a Map': define(
    () => new Map([[{ n: 1 }, 1]]),
    (s) => [...s.keys()][0]!.n,
    (s) => ([...s.keys()][0]!.n = 3),
  ),
  'a field of a Map': define(
    () => new Registry([['a', 1]]),
    (s) => s.bonus,
    (s) => (s.bonus = 3),
  ),
  'an element of a Set': define(
    () => new Set([1, 2]),
    (s) => [...s][1]!,
    (s) => {
      s.delete(2);
      s.add(7);
    },
  ),
  'the order of a Set': define(
    () => new Set([1, 2]),
    (s) => [...s][0]!,
    (s) => {
      s.delete(1);
      s.add(1);
    },
  ),
  'an object in a Set': define(
    () => new Set([{ n: 1 }]),
    (s) => [...s][0]!.n,
    (s) => ([...s][0]!.n = 3),
  ),
  'a large typed array': define(
    () => ({ data: new Float32Array(50_000).fill(1) }),
    (s) => s.data[49_000]!,
    (s) => (s.data[49_000] = 3),
  ),
  'a buffer': define(
    () => new Uint8Array([1, 2, 3]).buffer,
    (s) => new Uint8Array(s)[1]!,
    (s) => (new Uint8Array(s)[1] = 7),
  ),
  'an attribute of an object of the host': define(
    () => new Listener(),
    (s) => s.level,
    (s) => (s.level = 3),
  ),
  'an attribute of a function': define(
    () => ({ fn: Object.assign(() => 1, { k: 2 }) }),
    (s) => s.fn.k,
    (s) => (s.fn.k = 3),
  ),
  'objects that come apart': define(
    () => {
      const one = { n: 1 };
      return { a: one, b: one };
    },
    (s) => (s.a === s.b ? 1 : 2),
    (s) => (s.b = { n: 1 }),
  ),
  'objects that become one': define(
    () => ({ a: { n: 1 }, b: { n: 1 } }),
    (s) => (s.a === s.b ? 1 : 2),
    (s) => (s.b = s.a),
  ),
  'what a getter over private state gives': define(
    () => new Secret(),
    (s) => s.factor,
    (s) => s.set(5),
  ),
};

describe('a pure function sees', () => {
  it.each(Object.entries(cases))('%s', (_, [make, read, alter]) => {
    const value = make() as never;
    let runs = 0;
    const fn = (s: never, t: Tensor): Tensor => {
      runs++;
      return t.mul(read(s));
    };
    const { call, function: compiled } = compileEager(fn, { pure: true });
    for (let i = 0; i < 3; i++)
      expect(call(value, x).toArray()).toEqual(x.mul(read(value)).toArray());
    expect(runs).toBe(1);
    alter(value);
    for (let i = 0; i < 3; i++)
      expect(call(value, x).toArray()).toEqual(x.mul(read(value)).toArray());
    expect([runs, compiled.captures.length]).toEqual([2, 2]);
  });

  it('one object given twice, and two', () => {
    const fn = (a: object, b: object, t: Tensor): Tensor => (a === b ? t : t.neg());
    const { call } = compileEager(fn, { pure: true });
    const [one, other] = [{ n: 1 }, { n: 1 }];
    for (const [a, b] of [
      [one, one],
      [one, other],
      [other, other],
      [other, one],
    ] as const)
      expect(call(a, b, x).toArray()).toEqual(fn(a, b, x).toArray());
  });

  it('the reasons in words', () => {
    const reasons = (make: () => object, read: (s: never) => number, alter: (s: never) => void) => {
      const value = make() as never;
      const { call, function: compiled } = compileEager((s: never, t: Tensor) => t.mul(read(s)), {
        pure: true,
      });
      call(value, x);
      alter(value);
      return firstFailure(compiled.captures[0]!.guards, [value, x]);
    };
    expect(reasons(...cases['a new field']!)).toBe(
      "list(L['s'].__dict__.keys()) == ['scale', '_hidden', 'list']",
    );
    expect(reasons(...cases['a long array']!)).toBe("L['s'].list[350] == 1");
    expect(reasons(...cases['a value on the prototype']!)).toBe("type(L['s']).factor == 2");
    expect(reasons(...cases['a new value on the prototype above']!)).toBe(
      "not hasattr(type(L['s']).__base__, 'factor')",
    );
    expect(reasons(...cases['the order of a Map']!)).toBe("list(L['s'].keys())[0] == 'a'");
    expect(reasons(...cases['objects that come apart']!)).toBe("L['s'].a is L['s'].b");
    expect(reasons(...cases['objects that become one']!)).toBe("L['s'].a is not L['s'].b");
  });
});

describe('a pure function may not read', () => {
  const weak = new WeakMap<object, number>([[x, 2]]);
  const refused: Record<string, [unknown, (s: never, t: Tensor) => Tensor]> = {
    'a private field through a method': [new Secret(), (s: Secret, t) => s.of(t)],
    'what a WeakMap holds': [{ weak }, (s: { weak: typeof weak }, t) => t.mul(s.weak.get(x)!)],
    'an iterator': [
      { items: [1, 2].values() },
      (s: { items: Iterator<number> }, t) => t.mul(s.items.next().value as number),
    ],
  };

  it.each(Object.entries(refused))('%s', (_, [value, fn]) => {
    const { call } = compileEager(fn, { pure: true });
    for (let i = 0; i < 2; i++)
      expect(() => call(value as never, x)).toThrow(
        expect.objectContaining({ code: 'pure-hidden-state' }),
      );
    // Nothing stays replaced.
    expect([new Secret().of(x).toArray(), weak.get(x)]).toEqual([[2, 4], 2]);
  });

  it('but may make such objects itself, and be given those that it does not read', () => {
    const fn = (_: { secret: Secret; weak: object }, t: Tensor): Tensor => new Secret().of(t);
    const { call } = compileEager(fn, { pure: true });
    const given = { secret: new Secret(), weak };
    for (let i = 0; i < 2; i++) expect(call(given, x).toArray()).toEqual([2, 4]);
  });
});
