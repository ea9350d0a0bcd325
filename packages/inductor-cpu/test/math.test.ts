/**
 * @file Errors of the vector functions over the whole range of f32, in units in the last place.
 *
 * Arguments are every 4,099th bit pattern (so all exponents, both signs, denormals, infinities and NaN)
 * and dense samples where a function is delicate. The reference is JavaScript's f64 `Math`.
 */
import { IrBuilder, type LoopKernel, type ScalarOp } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { erf } from './erf.js';
import { loadKernel } from './load-kernel.js';

const CHUNK = 1 << 16;

/** `out = op(x)` or `op(x, y)` over CHUNK elements. */
function functionKernel(
  op: ScalarOp,
  arity: 1 | 2,
  dtype: DType,
  relaxedSimd: boolean,
): (x: number[], y: number[]) => number[] {
  const ir = new IrBuilder();
  const i = ir.sym('i', CHUNK);
  const names = arity === 1 ? ['x'] : ['x', 'y'];
  const value = ir.op(
    op,
    names.map((name) => ir.load(dtype, name, i)),
  );
  const kernel: LoopKernel = {
    kind: 'loop',
    name: op,
    params: [
      ...names.map((name) => ({ name, dtype, access: 'read' as const })),
      { name: 'out', dtype, access: 'write' },
    ],
    scalars: [],
    outer: [{ name: 'i', size: CHUNK }],
    inner: [],
    stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
  };
  const loaded = loadKernel(kernel, generateLoopKernel(kernel, { relaxedSimd }));
  return (x, y) => {
    const buffers: Record<string, number[]> = {
      x,
      ...(arity === 2 ? { y } : {}),
      out: x.map(() => 0),
    };
    loaded.run(buffers);
    return buffers.out;
  };
}

const bits = new DataView(new ArrayBuffer(8));
function fromBits(pattern: number): number {
  bits.setUint32(0, pattern);
  return bits.getFloat32(0);
}

/** Distance between neighbouring f32 numbers at x. */
function ulp(x: number): number {
  const exponent = x === 0 ? -126 : Math.max(-126, Math.floor(Math.log2(Math.abs(x))));
  return 2 ** (Math.min(exponent, 127) - 23);
}

/** Error in ulp; infinite where specials differ. */
function errorOf(got: number, exact: number): number {
  if (Number.isNaN(exact)) return Number.isNaN(got) ? 0 : Infinity;
  if (Number.isNaN(got)) return Infinity;
  const rounded = Math.fround(exact);
  if (got === rounded)
    return Object.is(got, 0) === Object.is(rounded, 0) || got !== 0 ? 0 : Infinity;
  if (!Number.isFinite(got) || !Number.isFinite(rounded)) {
    // Either side of the overflow threshold counts as one step.
    const largest = 3.4028234663852886e38;
    const finite = Number.isFinite(got) ? got : exact;
    return Math.abs(finite) >= largest * (1 - 2 ** -23) && Math.sign(got) === Math.sign(exact)
      ? 1
      : Infinity;
  }
  return Math.abs(got - exact) / ulp(exact);
}

const everything: number[] = [];
for (let pattern = 0; pattern < 2 ** 32; pattern += 4099) everything.push(fromBits(pattern));
everything.push(
  0,
  -0,
  Infinity,
  -Infinity,
  NaN,
  1,
  -1,
  1e-45,
  -1e-45,
  3.4028234663852886e38,
  1.1754943508222875e-38,
);

function dense(low: number, high: number, count: number): number[] {
  return Array.from({ length: count }, (_, k) => Math.fround(low + ((high - low) * k) / count));
}

interface Spec {
  readonly reference: (x: number) => number;
  readonly bound: number;
  readonly dense: readonly (readonly [number, number])[];
}

const SPECS: Partial<Record<ScalarOp, Spec>> = {
  exp: {
    reference: Math.exp,
    bound: 1.5,
    dense: [
      [-104, 89],
      [-1, 1],
    ],
  },
  exp2: {
    reference: (x) => 2 ** x,
    bound: 1,
    dense: [
      [-150, 128],
      [-1, 1],
    ],
  },
  expm1: {
    reference: Math.expm1,
    bound: 1.5,
    dense: [
      [-20, 89],
      [-1, 1],
    ],
  },
  log: {
    reference: Math.log,
    bound: 1,
    dense: [
      [0.5, 2],
      [0.99, 1.01],
    ],
  },
  log2: {
    reference: Math.log2,
    bound: 1,
    dense: [
      [0.5, 2],
      [0.99, 1.01],
    ],
  },
  log1p: {
    reference: Math.log1p,
    bound: 1.5,
    dense: [
      [-1, 1],
      [-1e-3, 1e-3],
    ],
  },
  sin: {
    reference: Math.sin,
    bound: 1,
    dense: [
      [-10, 10],
      [-1000, 1000],
      [-2e6, 2e6],
    ],
  },
  cos: {
    reference: Math.cos,
    bound: 1,
    dense: [
      [-10, 10],
      [-1000, 1000],
      [-2e6, 2e6],
    ],
  },
  tan: {
    reference: Math.tan,
    bound: 1,
    dense: [
      [-10, 10],
      [-1000, 1000],
    ],
  },
  asin: { reference: Math.asin, bound: 1, dense: [[-1, 1]] },
  acos: {
    reference: Math.acos,
    bound: 1,
    dense: [
      [-1, 1],
      [0.999, 1.0001],
    ],
  },
  atan: { reference: Math.atan, bound: 1, dense: [[-4, 4]] },
  sinh: {
    reference: Math.sinh,
    bound: 1,
    dense: [
      [-90, 90],
      [-1, 1],
    ],
  },
  cosh: { reference: Math.cosh, bound: 1, dense: [[-90, 90]] },
  tanh: {
    reference: Math.tanh,
    bound: 2,
    dense: [
      [-10, 10],
      [-1, 1],
    ],
  },
  sigmoid: {
    reference: (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))),
    bound: 2,
    dense: [
      [-104, 20],
      [-5, 5],
    ],
  },
  erf: {
    reference: erf,
    bound: 2,
    dense: [
      [-4, 4],
      [-1, 1],
    ],
  },
};

describe.each(hasRelaxedSimd() ? [false, true] : [false])(
  'vector functions of f32, relaxed SIMD %s',
  (relaxedSimd) => {
    for (const [name, spec] of Object.entries(SPECS)) {
      it(`computes ${name} within ${spec.bound} ulp over all of f32`, () => {
        const run = functionKernel(name as ScalarOp, 1, 'float32', relaxedSimd);
        const all = [
          ...everything,
          ...spec.dense.flatMap(([low, high]) => dense(low, high, 200_000)),
        ];
        let worst = 0;
        let at = 0;
        for (let start = 0; start < all.length; start += CHUNK) {
          const x = all.slice(start, start + CHUNK);
          while (x.length < CHUNK) x.push(1);
          run(x, []).forEach((got, k) => {
            const error = errorOf(got, spec.reference(x[k]));
            if (error > worst) [worst, at] = [error, x[k]];
          });
        }
        if (process.env.SHOW_ULP) console.log(name, worst.toFixed(3), 'at', at);
        expect(worst, `${name}(${at})`).toBeLessThanOrEqual(spec.bound);
      });
    }
  },
);
