/**
 * @file Operators of users' own that write to what they are given, return nothing, or return views, compiled and not.
 */
import { type Tensor, arange, library, ones, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotFunction } from '@tessera/aot-autograd';
import { compile } from '../src/index.js';

const lib = library('customOperators')
  .define('inc_(Tensor(a!) x, float v) -> Tensor(a!)')
  .impl('inc_', 'cpu', (x, v) => x.add_(v))
  .impl('inc_', 'meta', (x) => x)
  .define('acc(Tensor x, Tensor(a!) buffer) -> Tensor')
  .impl('acc', 'cpu', (x, buffer) => {
    buffer.add_(x);
    return x.mul(2);
  })
  .impl('acc', 'meta', (x) => x.emptyLike())
  .define('nothing_(Tensor(a!) x) -> ()')
  .impl('nothing_', 'cpu', (x) => {
    x.add_(1);
  })
  .impl('nothing_', 'meta', () => {})
  .define('all_(Tensor(a!)[] xs) -> ()')
  .impl('all_', 'cpu', (xs) => {
    for (const x of xs) x.add_(1);
  })
  .impl('all_', 'meta', () => {})
  .define('turned(Tensor(a) x) -> Tensor(a)')
  .impl('turned', 'cpu', (x) => x.t())
  .impl('turned', 'meta', (x) => x.t())
  .define('both_(Tensor(a!) x, Tensor(b!) y) -> ()')
  .impl('both_', 'cpu', (x, y) => {
    x.add_(1);
    y.mul_(2);
  })
  .impl('both_', 'meta', () => {})
  .define('copied(Tensor(a) x) -> Tensor(a)')
  .impl('copied', 'cpu', (x) => x.t())
  .impl('copied', 'meta', (x) => x.emptyLike().t());
const inc = lib.fn('inc_');
const acc = lib.fn('acc');
const nothing = lib.fn('nothing_');
const all = lib.fn('all_');
const turned = lib.fn('turned');
const both = lib.fn('both_');
const copied = lib.fn('copied');

type Make = () => { readonly fn: (x: Tensor) => unknown; readonly also?: Tensor };

const PROGRAMS: Readonly<Record<string, Make>> = {
  'an update of a temporary, whose result is not used': () => ({
    fn: (x) => {
      const z = x.clone();
      inc(z, 2.5);
      return z.sum();
    },
  }),
  'an update of a temporary, whose result is used': () => ({
    fn: (x) => inc(x.clone(), 2.5).sum(),
  }),
  'an update of an argument': () => ({
    fn: (x) => {
      inc(x, 2.5);
      return x.sum();
    },
  }),
  'an update of a view of an argument': () => ({
    fn: (x) => {
      inc(x.select(0, 0), 2.5);
      return x.mul(2);
    },
  }),
  'a captured buffer': () => {
    const also = zeros([2, 3]);
    return { fn: (x) => acc(x, also).sum(), also };
  },
  'a captured buffer, of which nothing is returned': () => {
    const also = zeros([2, 3]);
    return {
      fn: (x) => {
        acc(x, also);
        return x.add(1);
      },
      also,
    };
  },
  'an operator that returns nothing': () => ({
    fn: (x) => {
      const z = x.clone();
      nothing(z);
      return z.mul(2);
    },
  }),
  'an operator that writes to a list': () => ({
    fn: (x) => {
      const a = x.clone();
      const b = x.mul(3);
      all([a, b]);
      return a.mul(b);
    },
  }),
  'an operator that writes to a list of arguments': () => ({
    fn: (x) => {
      all([x, x.mul(2)]);
      return x.mul(2);
    },
  }),
  'a view that is written to': () => ({
    fn: (x) => {
      const z = x.clone();
      turned(z).add_(1);
      return z.sum();
    },
  }),
  'a view of an argument that is written to': () => ({
    fn: (x) => {
      turned(x).select(0, 1).add_(1);
      return x.mul(1);
    },
  }),
  'a view that is written to and returned': () => ({
    fn: (x) => {
      const t = turned(x.clone());
      t.add_(x.t());
      return t.mul(1).add(t);
    },
  }),
  'a view that is written to, which is returned': () => ({
    fn: (x) => {
      const t = turned(x.clone());
      t.add_(1);
      return t;
    },
  }),
  'a view that is returned': () => ({ fn: (x) => turned(x.mul(2)) }),
};

const numbers = (value: unknown): unknown => (value as Tensor).toArray();

describe('operators of users, compiled', () => {
  for (const backend of ['inductor', 'aot_eager', 'eager'])
    it.each(Object.keys(PROGRAMS))(`${backend}: %s`, (name) => {
      const [eager, made] = [PROGRAMS[name]!(), PROGRAMS[name]!()];
      const compiled = compile(made.fn, { backend });
      const [x, y] = [ones([2, 3]), ones([2, 3])];
      for (let call = 0; call < 3; call++) {
        expect(numbers(compiled(y)), `call ${call}`).toEqual(numbers(eager.fn(x)));
        expect(numbers(y)).toEqual(numbers(x));
        if (eager.also !== undefined) expect(numbers(made.also)).toEqual(numbers(eager.also));
      }
    });

  it('at sizes that vary', () => {
    for (const name of Object.keys(PROGRAMS)) {
      const [eager, made] = [PROGRAMS[name]!(), PROGRAMS[name]!()];
      // A captured buffer has one size.
      if (eager.also !== undefined) continue;
      const compiled = compile(made.fn, { dynamic: true });
      for (const rows of [2, 3, 5, 8, 13, 4]) {
        const [x, y] = [ones([rows, 3]), ones([rows, 3])];
        expect(numbers(compiled(y)), `${name}, ${rows} rows`).toEqual(numbers(eager.fn(x)));
        expect(numbers(y)).toEqual(numbers(x));
      }
    }
  });

  it.each<[string, (x: Tensor) => unknown]>([
    [
      'one tensor twice',
      (x) => {
        const z = x.clone();
        both(z, z);
        return z;
      },
    ],
    [
      'a view of what it writes to',
      (x) => {
        acc(x.select(0, 0), x.select(0, 0));
        return x;
      },
    ],
    ['a view whose meta rule makes memory', (x) => copied(x.clone()).add_(1)],
  ])('what no graph can say runs by itself: %s', (_, fn) => {
    const compiled = compile(fn);
    for (let call = 0; call < 2; call++)
      expect(numbers(compiled(ones([2, 3])))).toEqual(numbers(fn(ones([2, 3]))));
    expect(() =>
      aotFunction(fn, {
        fwCompiler: (module) => (inputs) => module.forward(...inputs) as unknown[],
      })(ones([2, 3])),
    ).toThrow(expect.objectContaining({ code: 'aot-unsupported' }) as Error);
  });

  const sums = library('customPromise')
    .define('s(Tensor x) -> Tensor')
    .impl('s', 'cpu', (x) => x.sum(0))
    .impl('s', 'meta', (x) => x.emptyLike())
    .fn('s');

  it.each(['inductor', 'aot_eager', 'eager'])(
    '%s: a kernel that breaks the promise of its meta rule is an error',
    (backend) => {
      const x = arange(6, { dtype: 'float32' }).reshape([2, 3]);
      const compiled = compile((q: Tensor) => sums(q).mul(1), { backend });
      for (let call = 0; call < 2; call++)
        expect(() => compiled(x)).toThrow(
          expect.objectContaining({ code: 'shape-mismatch' }) as Error,
        );
    },
  );
});
