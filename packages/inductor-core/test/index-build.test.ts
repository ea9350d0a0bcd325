import { describe, expect, it } from 'vitest';
import { type IndexDivision, IrBuilder, printIndex } from '../src/index.js';

describe('index expressions', () => {
  const ir = new IrBuilder();
  const x = ir.sym('x', 64);
  const y = ir.sym('y', 10);
  const z = ir.sym('z', 7);

  it('interns equal expressions as one object', () => {
    expect(ir.add(ir.scale(x, 8), y)).toBe(ir.add(y, ir.scale(x, 3), ir.scale(x, 5)));
    expect(ir.sub(ir.add(x, y), y)).toBe(x);
  });

  it('splits a row-major index back into its digits', () => {
    const flat = ir.add(ir.scale(x, 10), y);
    expect(ir.div(flat, 10)).toBe(x);
    expect(ir.mod(flat, 10)).toBe(y);
    expect(ir.add(ir.scale(ir.div(flat, 10), 10), ir.mod(flat, 10))).toBe(flat);
  });

  it('rejoins div and mod of one value, over several digits', () => {
    expect(ir.add(ir.scale(ir.div(x, 8), 8), ir.mod(x, 8))).toBe(x);
    const digits = ir.add(
      ir.scale(ir.div(x, 16), 16),
      ir.scale(ir.mod(ir.div(x, 4), 4), 4),
      ir.mod(x, 4),
    );
    expect(digits).toBe(x);
  });

  it('cancels a reshape of a reshape', () => {
    const flat = ir.add(ir.scale(x, 70), ir.scale(y, 7), z);
    const a = ir.div(flat, 14);
    const b = ir.mod(flat, 14);
    expect(ir.add(ir.scale(a, 14), b)).toBe(flat);
    expect(printIndex(a)).toBe('5*x + y div 2');
  });

  it('keeps repeated rotations of a dimension as short as one', () => {
    let rolled = x;
    for (let i = 0; i < 100; i++) rolled = ir.mod(ir.add(rolled, ir.int(3)), 64);
    expect(printIndex(rolled)).toBe('(x + 44) mod 64');
  });

  it('prints in the words of another language', () => {
    const division: IndexDivision = {
      div: (num, den) => `Math.floor(${num} / ${den})`,
      mod: (num, den) => `${num} % ${den}`,
    };
    const e = ir.add(ir.scale(ir.div(ir.add(ir.scale(x, 5), y), 3), -2), ir.mod(ir.add(x, y), 4));
    const text = printIndex(e, undefined, division);
    expect(text).toBe('-2*(Math.floor((5*x + y) / 3)) + (x + y) % 4');
    const value = new Function('x', 'y', `return ${text};`) as (...n: number[]) => number;
    expect(value(7, 8)).toBe((15 % 4) - 2 * 14);
  });

  it('agrees with arithmetic on random expressions (seeded)', () => {
    let seed = 12345;
    const random = (n: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return (seed >>> 8) % n;
    };
    const evaluate = (e: ReturnType<typeof ir.int>, env: Record<string, number>): number => {
      switch (e.kind) {
        case 'int':
          return e.value;
        case 'sym':
          return env[e.name]!;
        case 'add':
          return e.terms.reduce((s, t) => s + evaluate(t, env), 0);
        case 'mul':
          return e.factors.reduce((s, t) => s * evaluate(t, env), 1);
        case 'div':
          return Math.floor(evaluate(e.num, env) / evaluate(e.den, env));
        case 'mod': {
          const d = evaluate(e.den, env);
          const n = evaluate(e.num, env);
          return n - Math.floor(n / d) * d;
        }
        default:
          throw new Error('value');
      }
    };
    const syms = [x, y, z];
    for (let round = 0; round < 500; round++) {
      let e = ir.int(random(5));
      const env = { x: random(64), y: random(10), z: random(7) };
      let expected = evaluate(e, env);
      for (let step = 0; step < 8; step++) {
        const k = 1 + random(12);
        const s = syms[random(3)]!;
        switch (random(4)) {
          case 0:
            e = ir.add(e, ir.scale(s, k));
            expected += k * evaluate(s, env);
            break;
          case 1:
            e = ir.scale(e, k);
            expected *= k;
            break;
          case 2:
            e = ir.div(e, k);
            expected = Math.floor(expected / k);
            break;
          default: {
            e = ir.mod(e, k);
            expected %= k;
          }
        }
        expect(evaluate(e, env), `round ${round} step ${step}: ${printIndex(e)}`).toBe(expected);
        const b = ir.bounds(e);
        expect(expected >= b.lo && expected <= b.hi).toBe(true);
      }
    }
  });
});

describe('scalar expressions', () => {
  const ir = new IrBuilder();
  const i = ir.sym('i0', 16);
  const a = ir.load('float32', 'a', i);

  it('folds constants in the precision of the dtype', () => {
    const sum = ir.op('add', [ir.const('float32', 0.1), ir.const('float32', 0.2)]);
    expect(sum).toBe(ir.const('float32', Math.fround(Math.fround(0.1) + Math.fround(0.2))));
    expect(ir.op('add', [ir.const('int32', 2 ** 31 - 1), ir.const('int32', 1)])).toBe(
      ir.const('int32', -(2 ** 31)),
    );
  });

  it('keeps x + 0 for floats, which would lose the sign of -0, but not x - 0', () => {
    expect(ir.op('add', [a, ir.const('float32', 0)])).not.toBe(a);
    expect(ir.op('sub', [a, ir.const('float32', 0)])).toBe(a);
    expect(ir.op('add', [a, ir.const('float32', -0)])).toBe(a);
  });

  it('collapses exact conversion chains only', () => {
    const h = ir.load('float16', 'h', i);
    expect(ir.cast(ir.cast(h, 'float32'), 'float16')).toBe(h);
    expect(ir.cast(ir.cast(a, 'float16'), 'float32')).not.toBe(a);
    expect(ir.cast(ir.cast(ir.load('int32', 'n', i), 'float32'), 'int32').kind).toBe('op');
  });

  it('decides comparisons from loop ranges', () => {
    expect(ir.op('lt', [ir.index('int32', i), ir.const('int32', 16)])).toBe(ir.const('bool', 1));
    expect(ir.op('ge', [ir.index('int32', i), ir.const('int32', 16)])).toBe(ir.const('bool', 0));
    expect(ir.op('lt', [ir.index('int32', i), ir.const('int32', 8)]).kind).toBe('op');
  });

  it('rewrites ten thousand operations without recursion', () => {
    let e = a;
    for (let n = 0; n < 10_000; n++) e = ir.op('add', [ir.op('sin', [e]), a]);
    const [moved] = ir.rewrite([e], { symbol: () => ir.int(3) });
    expect(moved).not.toBe(e);
  });
});
