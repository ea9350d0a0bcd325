import { describe, expect, it } from 'vitest';
import {
  ShapeEnv,
  SizeFitter,
  SizeProgram,
  SymInt,
  freeSymbols,
  isMultiple,
  sizeAdd,
  sizeCeilDiv,
  sizeEq,
  sizeFloorDiv,
  sizeHint,
  sizeKnown,
  sizeLt,
  sizeMax,
  sizeMin,
  sizeMod,
  sizeMul,
  sizeNeg,
  sizeProduct,
  sizeSub,
  sizeSum,
} from '../src/index.js';
import type { Size } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

/** One symbol per hint, named s0, s1, … and read from `x.size(i)`. */
function symbols(hints: readonly number[], min = 2): { env: ShapeEnv; s: SymInt[] } {
  const env = new ShapeEnv();
  const s = hints.map((hint, i) => env.createSymbol(hint, { source: `x.size(${i})`, min }));
  return { env, s };
}

const texts = (env: ShapeEnv): string[] =>
  env.guards.map(({ base, op, bound }) => `${String(base)} ${op} ${bound}`);

describe('plain sizes', () => {
  it('follow floor division and never give negative zero', () => {
    expect(sizeFloorDiv(-7, 2)).toBe(-4);
    expect(sizeMod(-7, 2)).toBe(1);
    expect(sizeMod(7, -2)).toBe(-1);
    expect(sizeCeilDiv(7, 2)).toBe(4);
    expect(sizeMul(-3, 0)).toBe(0);
    expect(sizeNeg(0)).toBe(0);
    expect(sizeProduct([2, 3, 4])).toBe(24);
    expect(sizeProduct([])).toBe(1);
    expect(sizeSum([1, 2, 3])).toBe(6);
    expect(sizeMax(1, 5, 3)).toBe(5);
    expect(sizeMin(4, 2)).toBe(2);
  });

  it('refuse to divide by zero', () => {
    expect(thrownBy(() => sizeFloorDiv(4, 0)).code).toBe('invalid-argument');
    expect(thrownBy(() => sizeMod(4, 0)).code).toBe('invalid-argument');
  });
});

describe('normal form', () => {
  it('makes equal polynomials the same object, however they were built', () => {
    const {
      s: [a, b],
    } = symbols([8, 5]);
    const left = sizeMul(sizeAdd(a, b), sizeSub(a, b));
    const right = sizeSub(sizeMul(a, a), sizeMul(b, b));
    expect(left).toBe(right);
    expect(String(left)).toBe('s0 * s0 - s1 * s1');
    expect(sizeAdd(b, a)).toBe(sizeAdd(a, b));
    expect(sizeSum([a, b, sizeNeg(a), 3])).toBe(sizeAdd(b, 3));
  });

  it('becomes a plain number when the symbols cancel', () => {
    const {
      s: [a],
    } = symbols([8]);
    expect(sizeSub(a, a)).toBe(0);
    expect(sizeFloorDiv(sizeMul(a, 6), sizeMul(a, 2))).toBe(3);
    expect(sizeMod(sizeMul(a, 4), a)).toBe(0);
    expect(sizeMul(a, 0)).toBe(0);
  });

  it('prints terms by degree, then by symbol, as JavaScript', () => {
    const {
      s: [a, b],
    } = symbols([8, 5]);
    expect(String(sizeAdd(sizeSub(sizeMul(a, b), sizeMul(b, 3)), 7))).toBe('s0 * s1 - 3 * s1 + 7');
    expect(String(sizeMod(sizeAdd(a, b), 4))).toBe('(s0 + s1) % 4');
    expect(String(sizeFloorDiv(a, sizeMul(b, 2)))).toBe('Math.floor(s0 / (2 * s1))');
    expect(String(sizeMax(a, b))).toBe('Math.max(s0, s1)');
  });

  it.each<[string, (a: Size, b: Size) => Size, string]>([
    [
      'takes multiples out of a division',
      (a) => sizeFloorDiv(sizeAdd(sizeMul(a, 4), 6), 4),
      's0 + 1',
    ],
    ['reduces a fraction', (a) => sizeFloorDiv(sizeMul(a, 6), 4), 's0 + Math.floor(s0 / 2)'],
    [
      'cancels common symbols',
      (a, b) => sizeFloorDiv(sizeProduct([a, b, 6]), sizeMul(b, 3)),
      '2 * s0',
    ],
    [
      'divides polynomials exactly',
      (a, b) => sizeFloorDiv(sizeMul(sizeAdd(a, b), sizeAdd(a, 1)), sizeAdd(a, 1)),
      's0 + s1',
    ],
    ['joins nested divisions', (a) => sizeFloorDiv(sizeFloorDiv(a, 2), 3), 'Math.floor(s0 / 6)'],
    [
      'joins the sizes of stacked strided convolutions',
      (a) => [0, 0, 0].reduce<Size>((n) => sizeAdd(sizeFloorDiv(sizeSub(n, 1), 2), 1), a),
      'Math.floor((s0 + 7) / 8)',
    ],
    ['drops an inner modulo', (a) => sizeMod(sizeMod(a, 12), 4), 's0 % 4'],
    ['takes a factor out of a modulo', (a) => sizeMod(sizeMul(a, 6), 8), '2 * ((3 * s0) % 4)'],
    [
      'joins quotient and remainder',
      (a) => sizeAdd(sizeMul(sizeFloorDiv(a, 5), 5), sizeMod(a, 5)),
      's0',
    ],
    [
      'joins quotient and remainder of a symbolic divisor',
      (a, b) => sizeAdd(sizeMul(sizeFloorDiv(a, b), b), sizeMod(a, b)),
      's0',
    ],
    [
      'keeps the larger of two that differ by a constant',
      (a) => sizeMax(a, sizeAdd(a, 2)),
      's0 + 2',
    ],
    ['drops a bound that never binds', (a) => sizeMax(a, 1), 's0'],
    ['flattens nested extrema', (a, b) => sizeMin(sizeMin(a, 9), b, 7), 'Math.min(s0, s1, 7)'],
    ['knows that a smaller size fits no whole time', (a) => sizeFloorDiv(sizeSub(a, 1), a), '0'],
  ])('%s', (_, build, expected) => {
    const {
      s: [a, b],
    } = symbols([8, 5]);
    expect(String(build(a, b))).toBe(expected);
  });

  it('stays usable for products too large to multiply out', () => {
    const { s } = symbols(Array.from({ length: 40 }, (_, i) => i + 2));
    const half = sizeSum(s.slice(0, 30));
    const other = sizeSum(s.slice(10, 40));
    const product = sizeMul(half, other);
    const program = new SizeProgram(s);
    const [x, y, z] = [half, other, product].map((size) => program.slot(size));
    const values = program.run(s.map((_, i) => i + 3));
    expect(values[z!]).toBe(values[x!]! * values[y!]!);
    expect(sizeFloorDiv(product, 1)).toBe(product);
  });

  it('handles sums of 10,000 symbols and 10,000 nested divisions without recursion', () => {
    const { s } = symbols(Array.from({ length: 10_000 }, (_, i) => i + 2));
    const sum = sizeSum(s);
    expect(sizeHint(sum)).toBe((10_000 * 10_003) / 2);
    expect(freeSymbols(sum)).toHaveLength(10_000);

    const {
      s: [a, b],
    } = symbols([1000, 999]);
    let nested: Size = a!;
    for (let i = 0; i < 10_000; i++) nested = sizeAdd(sizeFloorDiv(sizeMul(nested, 2), 3), b);
    expect(sizeHint(nested)).toBeGreaterThan(0);
    expect(String(nested).length).toBeGreaterThan(100_000);
    expect((nested as SymInt).env.rangeOf(nested).lo).toBeGreaterThan(0);
  });
});

describe('guards', () => {
  it('answer for the present sizes and record the relation once', () => {
    const {
      env,
      s: [a, b],
    } = symbols([8, 4]);
    expect(sizeEq(a, sizeMul(b, 2))).toBe(true);
    expect(sizeEq(sizeMul(2, b), a)).toBe(true);
    expect(sizeLt(a, 10)).toBe(true);
    expect(sizeLt(11, a)).toBe(false);
    expect(texts(env)).toEqual(['s0 - 2 * s1 == 0', 's1 <= 4']);
  });

  it('record nothing where the answer is certain', () => {
    const {
      env,
      s: [a, b],
    } = symbols([8, 4]);
    expect(sizeEq(a, a)).toBe(true);
    expect(sizeEq(a, sizeAdd(a, 1))).toBe(false);
    expect(sizeLt(a, 2)).toBe(false);
    expect(sizeLt(1, sizeMul(a, b))).toBe(true);
    expect(sizeEq(sizeMul(a, 2), 7)).toBe(false);
    expect(env.guards).toEqual([]);
  });

  it('are relations in one form, whichever way they were asked', () => {
    const {
      env,
      s: [a, b],
    } = symbols([8, 5], 0);
    env.guard(a, '!=', b);
    env.guard(a, '>', b);
    env.guard(sizeAdd(a, 1), '<=', sizeMul(b, 2));
    env.guard(a, '>=', 3);
    env.guard(sizeSub(a, b), '==', 3);
    expect(texts(env)).toEqual([
      's0 - s1 != 0',
      's0 - s1 >= 1',
      's0 - 2 * s1 <= -1',
      's0 >= 3',
      's0 - s1 == 3',
    ]);
  });

  it('fix an expression to its present value on demand', () => {
    const {
      env,
      s: [a, b],
    } = symbols([8, 4]);
    expect(env.guardInt(sizeAdd(a, 1))).toBe(9);
    expect(texts(env)).toEqual(['s0 == 8']);
    expect(env.simplify(sizeMul(a, b))).toBe(env.simplify(sizeMul(b, 8)));
    expect(env.guardInt(5)).toBe(5);
  });

  it('guard a divisor that may be zero', () => {
    const {
      env,
      s: [a, b],
    } = symbols([8, 4], 0);
    sizeFloorDiv(a, b);
    expect(texts(env)).toEqual(['s1 != 0']);
    const {
      s: [c, zero],
    } = symbols([8, 0], 0);
    expect(thrownBy(() => sizeFloorDiv(c, zero)).code).toBe('invalid-argument');
  });
});

describe('facts from guards', () => {
  it('an equality replaces a symbol everywhere, also through other equalities', () => {
    const {
      env,
      s: [a, b, c],
    } = symbols([8, 4, 2]);
    env.guard(a, '==', sizeMul(b, 2));
    env.guard(b, '==', sizeMul(c, 2));
    expect(String(env.simplify(sizeAdd(a, b)))).toBe('6 * s2');
    expect(sizeKnown(a, '==', sizeMul(c, 4))).toBe(true);
    expect(sizeEq(sizeMul(a, b), sizeProduct([c, c, 8]))).toBe(true);
    expect(env.guards).toHaveLength(2);
  });

  it('a bound narrows the range and answers weaker questions', () => {
    const {
      env,
      s: [a, b],
    } = symbols([8, 4]);
    env.guard(a, '<=', 10);
    env.guard(b, '<', a);
    expect(env.rangeOf(a)).toEqual({ lo: 2, hi: 10 });
    expect(env.rangeOf(sizeSub(a, b))).toMatchObject({ lo: 1 });
    expect(sizeKnown(a, '<', 11)).toBe(true);
    expect(sizeKnown(b, '<=', sizeAdd(a, 3))).toBe(true);
    expect(sizeKnown(b, '==', a)).toBe(false);
    expect(sizeKnown(a, '<', 9)).toBeUndefined();
    expect(String(sizeMax(a, b))).toBe('s0');
  });

  it('bounds that meet, or an excluded end, fix the value', () => {
    const {
      env,
      s: [a],
    } = symbols([3]);
    env.guard(a, '<=', 3);
    env.guard(a, '!=', 2);
    expect(env.simplify(sizeMul(a, a))).toBe(9);
  });

  it('a known divisor makes a quotient exact', () => {
    const {
      env,
      s: [a, b],
    } = symbols([12, 3]);
    const rows = sizeFloorDiv(a, 4);
    expect(isMultiple(a, 4)).toBe(false);
    expect(sizeEq(sizeMod(a, 4), 0)).toBe(true);
    expect(isMultiple(a, 4) && !isMultiple(a, 8)).toBe(true);
    expect(env.simplify(sizeMul(rows, 4))).toBe(a);
    expect(env.simplify(sizeMul(rows, 3))).toBe(sizeMul(rows, 3));
    expect(sizeKnown(sizeProduct([rows, 8, b]), '==', sizeProduct([a, b, 2]))).toBe(true);
    const columns = sizeFloorDiv(a, b);
    expect(sizeEq(sizeMod(a, b), 0)).toBe(true);
    expect(sizeKnown(sizeMul(columns, b), '==', a)).toBe(true);
  });

  it('what was known about a replaced symbol carries over to its value', () => {
    const {
      env,
      s: [a, b],
    } = symbols([12, 6]);
    env.guard(a, '<=', 21);
    env.guard(a, '>=', 9);
    env.guard(a, '==', sizeMul(b, 2));
    expect(env.rangeOf(b)).toEqual({ lo: 5, hi: 10 });
  });

  it('stays linear for thousands of guards on different symbols', () => {
    const { env, s } = symbols(Array.from({ length: 2000 }, () => 7));
    for (let i = 1; i < s.length; i++) expect(env.guard(s[i], '<=', 100)).toBe(true);
    expect(env.guards).toHaveLength(1999);
  });
});

describe('symbols', () => {
  it('have a declared range, in which the hint must lie', () => {
    const env = new ShapeEnv();
    const n = env.createSymbol(8, { source: 'n', min: 4, max: 16 });
    expect(env.rangeOf(n)).toEqual({ lo: 4, hi: 16 });
    expect(sizeKnown(n, '<=', 16)).toBe(true);
    expect(env.rangeOf(env.createSymbol(8, { source: 'k' }))).toEqual({ lo: 0, hi: Infinity });
    expect(thrownBy(() => env.createSymbol(20, { source: 'm', max: 16 })).code).toBe(
      'invalid-argument',
    );
    expect(thrownBy(() => env.createSymbol(2.5, { source: 'm' })).code).toBe('invalid-argument');
  });

  it('with equal hints are symbols of their own', () => {
    const {
      s: [a, b],
    } = symbols([8, 8]);
    expect(b).not.toBe(a);
    expect(sizeKnown(a, '==', b)).toBeUndefined();
  });

  it('obey what is demanded of them', () => {
    const {
      env,
      s: [a],
    } = symbols([8]);
    env.assume(a, '>=', 5);
    expect(sizeLt(a, 5)).toBe(false);
    expect(texts(env)).toEqual(['s0 >= 5']);
    expect(thrownBy(() => env.assume(a, '<', 3)).code).toBe('invalid-argument');
  });

  it('from different captures do not mix', () => {
    const {
      s: [a],
    } = symbols([8]);
    const {
      s: [b],
    } = symbols([8]);
    expect(thrownBy(() => sizeAdd(a, b)).message).toMatch(/belong to different captures/);
  });

  it('do not take part in JavaScript arithmetic, but may be printed', () => {
    const {
      s: [a],
    } = symbols([8]);
    expect(thrownBy(() => Number(a) + 1).code).toBe('symint-arithmetic');
    expect(thrownBy(() => (a as unknown as number) * 2).code).toBe('symint-arithmetic');
    expect(`${String(a)}`).toBe('s0');
    expect(JSON.stringify({ size: a })).toBe('{"size":"s0"}');
  });

  it('refuse constants that are not exact integers', () => {
    const {
      s: [a],
    } = symbols([8]);
    expect(thrownBy(() => sizeAdd(a, 0.5)).code).toBe('invalid-argument');
    expect(thrownBy(() => sizeMul(sizeMul(a, 2 ** 40), 2 ** 40)).code).toBe('invalid-argument');
  });
});

it('expressions are instances of SymInt', () => {
  const {
    s: [a],
  } = symbols([8]);
  expect(a).toBeInstanceOf(SymInt);
});

it('sizes that differ by a constant are told from lines that two runs also fit', () => {
  const {
    s: [batch, length],
  } = symbols([2, 9]);
  const fitter = new SizeFitter([
    { size: batch!, at: [2, 3] },
    { size: length!, at: [9, 12] },
  ]);
  expect(String(fitter.fit([8, 11]))).toBe('s1 - 1');
  expect(String(fitter.fit([7, 9]))).toBe('2 * s0 + 3');
});
