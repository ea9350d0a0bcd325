/**
 * Every floating-point operation against double precision, in units in the last place, over the whole
 * range of float32 with special values, for one value per thread and for four.
 */
import { IrBuilder, type LoopKernel, type ScalarOp } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { openGpu } from './support/open-gpu.js';
import { runOnDevice } from './support/run-kernel.js';

const gpu = await openGpu();

const scratch = new DataView(new ArrayBuffer(4));
const fromBits = (bits: number): number => {
  scratch.setUint32(0, bits);
  return scratch.getFloat32(0);
};

/** Distance between neighbouring float32 at a value. */
function ulp(value: number): number {
  const size = Math.abs(Math.fround(value));
  if (size < 2 ** -126) return 2 ** -149;
  return 2 ** (Math.floor(Math.log2(size)) - 23);
}

/** Largest error in ulp; infinite where specials differ. */
function worst(actual: readonly number[], wanted: readonly number[]): { ulps: number; at: number } {
  let result = { ulps: 0, at: 0 };
  for (const [i, a] of actual.entries()) {
    const w = wanted[i];
    const near = Math.fround(w);
    if (Object.is(a, near) || a === near || (Number.isNaN(a) && Number.isNaN(w))) continue;
    // WGSL may flush subnormal numbers to zero.
    if (Math.abs(w) < 2 ** -126 && Math.abs(a) < 2 ** -126) continue;
    const finite = Number.isFinite(a) && Number.isFinite(near);
    const ulps = finite ? Math.abs(a - w) / ulp(w) : Infinity;
    if (ulps > result.ulps) result = { ulps, at: i };
  }
  return result;
}

function kernelOf(
  op: ScalarOp,
  arity: number,
  sizes: readonly number[],
  dtype: 'float32' | 'int32' = 'float32',
): LoopKernel {
  const b = new IrBuilder();
  const vars = sizes.map((size, d) => ({ name: `i${d}`, size }));
  let index = b.int(0);
  for (const v of vars) index = b.add(b.scale(index, v.size), b.sym(v.name, v.size));
  const args = ['x', 'y'].slice(0, arity).map((name) => b.load(dtype, name, index));
  return {
    kind: 'loop',
    name: `${op}_${sizes.length}`,
    params: [
      ...['x', 'y'].slice(0, arity).map((name) => ({ name, dtype, access: 'read' as const })),
      { name: 'out', dtype, access: 'write' },
    ],
    scalars: [],
    outer: vars,
    inner: [],
    stages: [
      { kind: 'outer', body: [{ kind: 'store', buf: 'out', index, value: b.op(op, args) }] },
    ],
  };
}

const SPECIALS = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  Infinity,
  -Infinity,
  NaN,
  3.4028234e38,
  -3.4028234e38,
  2 ** -120,
  1e-30,
  -1e-30,
].map(Math.fround);

/** A prime-sized sample: specials, then numbers spread over the exponents of [low, high] with both signs. */
function sample(count: number, low: number, high: number): number[] {
  const values = SPECIALS.filter((value) => !Number.isFinite(value) || Math.abs(value) <= high);
  let state = 12345;
  while (values.length < count) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const u = state / 2 ** 32;
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const size = Math.exp(Math.log(low) + u * (Math.log(high) - Math.log(low)));
    values.push(Math.fround(state & 0x8000_0000 ? size : -size));
  }
  return values;
}

const COUNT = 19997;

interface Case {
  readonly op: ScalarOp;
  readonly exact: (x: number) => number;
  readonly range?: readonly [number, number];
  readonly ulps: number;
}

const erf = (x: number): number => {
  const a = Math.abs(x);
  if (Number.isNaN(x) || a >= 6) return Number.isNaN(x) ? x : Math.sign(x);
  let term = a;
  let sum = a;
  for (let n = 1; term > sum * 1e-18; n++) {
    term *= (2 * a * a) / (2 * n + 1);
    sum += term;
  }
  return (Object.is(x, -0) ? -0 : Math.sign(x)) * (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a) * sum;
};

const UNARY: readonly Case[] = [
  { op: 'exp', exact: Math.exp, range: [1e-8, 110], ulps: 2 },
  { op: 'exp2', exact: (x) => 2 ** x, range: [1e-8, 160], ulps: 2 },
  { op: 'expm1', exact: Math.expm1, range: [1e-12, 100], ulps: 3 },
  { op: 'log', exact: Math.log, range: [1.2e-38, 3e38], ulps: 2 },
  { op: 'log2', exact: Math.log2, range: [1.2e-38, 3e38], ulps: 2.5 },
  { op: 'log1p', exact: Math.log1p, range: [1e-12, 3e38], ulps: 3 },
  { op: 'tanh', exact: Math.tanh, range: [1e-12, 30], ulps: 2.5 },
  { op: 'sigmoid', exact: (x) => 1 / (1 + Math.exp(-x)), range: [1e-8, 85], ulps: 3 },
  { op: 'erf', exact: erf, range: [1e-12, 10], ulps: 2 },
  { op: 'sinh', exact: Math.sinh, range: [1e-8, 92], ulps: 4 },
  { op: 'cosh', exact: Math.cosh, range: [1e-8, 92], ulps: 4 },
  { op: 'sin', exact: Math.sin, range: [1e-8, 3e38], ulps: 3 },
  { op: 'cos', exact: Math.cos, range: [1e-8, 3e38], ulps: 3 },
  { op: 'tan', exact: Math.tan, range: [1e-8, 3e38], ulps: 5 },
  { op: 'asin', exact: Math.asin, range: [1e-8, 1], ulps: 3 },
  { op: 'acos', exact: Math.acos, range: [1e-8, 1], ulps: 3 },
  { op: 'atan', exact: Math.atan, range: [1e-8, 1e30], ulps: 3 },
  { op: 'sqrt', exact: Math.sqrt, range: [1e-37, 3e38], ulps: 3 },
  { op: 'rsqrt', exact: (x) => 1 / Math.sqrt(x), range: [1e-37, 3e38], ulps: 3 },
  { op: 'reciprocal', exact: (x) => 1 / x, range: [1e-36, 1e36], ulps: 3 },
  { op: 'sign', exact: (x) => Number(x > 0) - Number(x < 0), ulps: 0 },
];

describe.skipIf(gpu === null)('unary operations', () => {
  for (const { op, exact, range = [1e-30, 1e30], ulps } of UNARY) {
    it(`${op} is within ${ulps} ulp`, async () => {
      const x = sample(COUNT, range[0], range[1]);
      const wanted = x.map(exact);
      for (const sizes of [[COUNT], [1, COUNT], [COUNT, 1]]) {
        const kernel = kernelOf(op, 1, sizes);
        const { out } = await runOnDevice(gpu!, kernel, { x, out: x });
        const { ulps: error, at } = worst(out, wanted);
        expect(error, `${op}(${x[at]}) gave ${out[at]}, exactly ${wanted[at]}`).toBeLessThanOrEqual(
          ulps,
        );
      }
    });
  }
});

interface BinaryCase {
  readonly op: ScalarOp;
  readonly exact: (x: number, y: number) => number;
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
  readonly ulps: number;
}

const pythonRemainder = (a: number, b: number): number => {
  const r = a % b;
  return r !== 0 && r < 0 !== b < 0 ? Math.fround(r + b) : r;
};
const pow = (a: number, b: number): number =>
  a === 1 || b === 0 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b;

const isNegative = (x: number): boolean => x < 0 || Object.is(x, -0);
const copySign = (a: number, b: number): number => (isNegative(a) === isNegative(b) ? a : -a);
/** The neighbouring float32. */
const nextAfter = (a: number, b: number): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return NaN;
  if (a === b) return b;
  if (a === 0) return b > 0 ? 2 ** -149 : -(2 ** -149);
  scratch.setFloat32(0, a);
  return fromBits(scratch.getUint32(0) + (b > a === a > 0 ? 1 : -1));
};

const BINARY: readonly BinaryCase[] = [
  // NaN has no sign that JavaScript shows.
  { op: 'copysign', exact: copySign, x: [1e-30, 1e30], y: [1e-30, 1e30], ulps: 0 },
  { op: 'nextafter', exact: nextAfter, x: [1e-30, 1e30], y: [1e-30, 1e30], ulps: 0 },
  { op: 'pow', exact: pow, x: [1e-30, 1e30], y: [0.01, 10], ulps: 2 },
  { op: 'pow', exact: pow, x: [0.9, 1.1], y: [1, 1000], ulps: 2 },
  { op: 'atan2', exact: Math.atan2, x: [1e-3, 1e3], y: [1e-3, 1e3], ulps: 4 },
  { op: 'fmod', exact: (a, b) => a % b, x: [1e-10, 1e20], y: [1e-10, 1e10], ulps: 0 },
  { op: 'remainder', exact: pythonRemainder, x: [1e-5, 1e5], y: [1e-5, 1e5], ulps: 1 },
  {
    op: 'maximum',
    exact: (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b)),
    x: [1e-30, 1e30],
    y: [1e-30, 1e30],
    ulps: 0,
  },
  {
    op: 'minimum',
    exact: (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.min(a, b)),
    x: [1e-30, 1e30],
    y: [1e-30, 1e30],
    ulps: 0,
  },
];

describe.skipIf(gpu === null)('binary operations', () => {
  for (const { op, exact, x: xs, y: ys, ulps } of BINARY) {
    it(`${op} is within ${ulps} ulp for ${xs.join('…')}, ${ys.join('…')}`, async () => {
      const x = sample(COUNT, xs[0], xs[1]);
      const y = sample(COUNT, ys[0], ys[1]).map((_, i, all) => all[(i * 7919 + 13) % COUNT]);
      // All pairs of specials.
      for (const [i, a] of SPECIALS.entries()) {
        for (const [j, b] of SPECIALS.entries()) {
          const at = 100 + i * SPECIALS.length + j;
          [x[at], y[at]] = [Math.fround(a), Math.fround(b)];
        }
      }
      const wanted = x.map((a, i) => exact(a, y[i]));
      const { out } = await runOnDevice(gpu!, kernelOf(op, 2, [COUNT]), { x, y, out: x });
      const { ulps: error, at } = worst(out, wanted);
      expect(
        error,
        `${op}(${x[at]}, ${y[at]}) gave ${out[at]}, exactly ${wanted[at]}`,
      ).toBeLessThanOrEqual(ulps);
    });
  }

  it('the greatest common divisor is exact', async () => {
    const x = [12, -12, 0, 7, 1071, 2147483647, 0];
    const y = [18, 18, 5, 0, -462, 46341, 0];
    const { out } = await runOnDevice(gpu!, kernelOf('gcd', 2, [x.length], 'int32'), {
      x,
      y,
      out: x,
    });
    expect(out).toEqual([6, 6, 5, 7, 21, 1, 0]);
  });

  it('floordiv rounds down as PyTorch does', async () => {
    const x = [7, -7, 7, -7, 1, 0, 5.5, -5.5, 1e6, 6, -6];
    const y = [2, 2, -2, -2, 0, 3, 0.5, 0.5, 3, 3, 3];
    const { out } = await runOnDevice(gpu!, kernelOf('floordiv', 2, [x.length]), { x, y, out: x });
    expect(out).toEqual([3, -4, -4, 3, Infinity, 0, 11, -11, 333333, 2, -2]);
  });
});

describe('reference values of this file', () => {
  it('knows the spacing of float32', () => {
    expect(ulp(1)).toBe(2 ** -23);
    expect(fromBits(0x3f800001) - 1).toBe(ulp(1));
  });
});
