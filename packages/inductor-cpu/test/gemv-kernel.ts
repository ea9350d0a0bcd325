/** @file Kernels of one row times weights of fewer than 32 bits, run beside the interpreter. */
import {
  IrBuilder,
  interpretKernel,
  type ScheduledKernel,
  scheduleGemv,
  verifyKernel,
  type Expr,
  type LoopKernel,
  type Stmt,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { expect } from 'vitest';
import type { CodeOptions } from '../src/body/vector-builder.js';
import { useNarrowWeights } from '../src/gemv/use-narrow-weights.js';
import { gemvTarget } from '../src/loops/cpu-target.js';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { loadKernel } from './load-kernel.js';
import { at } from './matmul-kernel.js';

// One for all kernels, which share expressions by the names of buffers: those differ by format.

export const ir: IrBuilder = new IrBuilder();
export const weights = (format: Format, i: number): string => `${format}_w${i}`;

/** `int8s` has a scale for each group. */
export type Format = 'float16' | 'bfloat16' | 'int8' | 'int8s' | 'int4';
export const GROUP = 32;

export interface Case {
  readonly format: Format;
  /** Rows of x; one if absent. */
  readonly rows?: number;
  readonly columns: number;
  readonly depth: number;
  /** Products that the kernel sums, with weights of their own. */
  readonly sums?: number;
  /** k that share a scale. */
  readonly group?: number;
  /** Whether x is what is loaded, and not made of it. */
  readonly plain?: boolean;
}

/** Digits of k and their sizes. */
export function digitsOf({ format, depth, group = GROUP }: Case): Record<string, number> {
  if (format === 'int8') return { k0: depth / 4, k1: 4 };
  if (format === 'int8s') return { k0: depth / group, k1: group / 4, k2: 4 };
  if (format === 'int4') return { k0: depth / group, k1: group / 8, k2: 8 };
  return { k0: depth };
}

/** The weight at (n, k) of the sum number `i`. */
export function weightOf({ format, columns, depth, group = GROUP }: Case, i: number): Expr {
  const word = (terms: Record<string, number>): Expr =>
    ir.load('int32', weights(format, i), at(terms));
  const whole = (value: number): Expr => ir.const('int32', value);
  const shift = (digit: string, bits: number): Expr =>
    ir.op('mul', [ir.index('int32', ir.sym(digit)), whole(bits)]);
  if (format === 'int8') {
    const up = ir.op('sub', [whole(24), shift('k1', 8)]);
    const raised = ir.op('shl', [word({ n: depth / 4, k0: 1 }), up]);
    return ir.cast(ir.op('shr', [raised, whole(24)]), 'float32');
  }
  if (format === 'int8s') {
    const up = ir.op('sub', [whole(24), shift('k2', 8)]);
    const raised = ir.op('shl', [word({ n: depth / 4, k0: group / 4, k1: 1 }), up]);
    const value = ir.cast(ir.op('shr', [raised, whole(24)]), 'float32');
    return ir.op('mul', [value, ir.load('float32', `s${i}`, at({ k0: columns, n: 1 }))]);
  }
  if (format === 'int4') {
    const shifted = ir.op('shr', [word({ n: depth / 8, k0: group / 8, k1: 1 }), shift('k2', 4)]);
    const centered = ir.op('sub', [ir.op('and', [shifted, whole(15)]), whole(8)]);
    const [scale, zero] = [0, 1].map((last) =>
      ir.load('float32', `s${i}`, at({ k0: 2 * columns, n: 2 }, last)),
    ) as [Expr, Expr];
    return ir.op('add', [ir.op('mul', [ir.cast(centered, 'float32'), scale]), zero]);
  }
  return ir.cast(ir.load(format, weights(format, i), at({ n: depth, k0: 1 })), 'float32');
}

/** `out[n] += relu(Σ over sums of n's products)`, of x² + 1: an operand that is more than a load. */
export function kernelOf(made: Case): LoopKernel {
  const { format, rows = 1, columns, depth, sums = 1, plain = false } = made;
  const digits = digitsOf(made);
  const dtype: DType = format.startsWith('int')
    ? 'int32'
    : format === 'float16'
      ? format
      : 'bfloat16';
  let unit = 1;
  const isOne = rows === 1;
  const place: Record<string, number> = isOne ? {} : { m: depth };
  const output = at(isOne ? { n: 1 } : { m: columns, n: 1 });
  for (const [name, size] of Object.entries(digits).toReversed()) {
    place[name] = unit;
    unit *= size;
  }
  const loaded = ir.load('float32', 'x', at(place));
  const x = plain ? loaded : ir.op('add', [ir.op('mul', [loaded, loaded]), ir.const('float32', 1)]);
  const numbers = Array.from({ length: sums }, (_, i) => i);
  const total = numbers
    .map((i): Expr => ir.acc('float32', i))
    .reduce((a, b) => ir.op('add', [a, b]));
  const before = ir.load('float32', 'out', output);
  const value = ir.op('add', [ir.op('maximum', [total, ir.const('float32', 0)]), before]);
  return {
    kind: 'loop',
    name: 'gemv',
    params: [
      { name: 'x', dtype: 'float32', access: 'read' },
      ...numbers.map((i) => ({ name: weights(format, i), dtype, access: 'read' as const })),
      ...numbers.flatMap((i) =>
        format === 'int4' || format === 'int8s'
          ? [{ name: `s${i}`, dtype: 'float32', access: 'read' } as const]
          : [],
      ),
      { name: 'out', dtype: 'float32', access: 'readwrite' },
    ],
    scalars: [],
    outer: [...(isOne ? [] : [{ name: 'm', size: rows }]), { name: 'n', size: columns }],
    inner: Object.entries(digits).map(([name, size]) => ({ name, size })),
    stages: [
      {
        kind: 'inner',
        body: numbers.map((i): Stmt => ({
          kind: 'reduce',
          op: 'sum',
          ids: [i],
          dtype: 'float32',
          value: ir.op('mul', [x, weightOf(made, i)]),
        })),
      },
      { kind: 'outer', body: [{ kind: 'store', buf: 'out', index: output, value }] },
    ],
  };
}

/** Numbers in [-1, 1) or of 32 bits. */
export function numbers(count: number, dtype: DType, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const mixed = state ^ (state >>> 15);
    return dtype === 'int32' ? mixed : Math.round((mixed / 2 ** 31) * 128) / 128;
  });
}

export function bufferSizes({
  format,
  rows = 1,
  columns,
  depth,
  group = GROUP,
}: Case): Record<string, number> {
  const perElement = format.startsWith('int8') ? 4 : format === 'int4' ? 8 : 1;
  return {
    x: rows * depth,
    w: (columns * depth) / perElement,
    s: (depth / group) * columns * 2,
    out: rows * columns,
  };
}

useNarrowWeights();

/** Products of floats, and of integers. */
export const machines: readonly CodeOptions[] = (
  hasRelaxedSimd() ? [false, true] : [false]
).flatMap((relaxedSimd) => [
  { relaxedSimd, pairProducts: false },
  { relaxedSimd, pairProducts: true },
]);

export const ROUNDED: CodeOptions = { relaxedSimd: false, rowBits: 16 };

/** The schedule of a product, or null for other kernels. */
export function scheduledGemv(
  kernel: LoopKernel,
  options: CodeOptions = machines[0]!,
): ScheduledKernel | null {
  return scheduleGemv(kernel, gemvTarget(options));
}

/** Runs the code, split into parts, and gives what the interpreter gives. */
export function both(
  made: Case,
  parts: number,
  adjust: (values: Map<string, number[]>) => void = () => {},
  options: readonly CodeOptions[] = machines,
): { got: readonly number[]; wanted: readonly number[] }[] {
  const kernel = kernelOf(made);
  verifyKernel(kernel);
  expect(scheduledGemv(kernel), 'has code of its own').not.toBeNull();
  const sizes = bufferSizes(made);
  const values = new Map(
    kernel.params.map(({ name, dtype }, i) => [
      name,
      numbers(sizes[/[a-z]+(?=\d?$)/.exec(name)![0]]!, dtype, i + 1),
    ]),
  );
  adjust(values);
  const expected = structuredClone(values);
  interpretKernel(kernel, expected, {});
  return options.map((each) => {
    const code = generateLoopKernel(kernel, each);
    const actual = Object.fromEntries(structuredClone(values));
    loadKernel(kernel, code).run(actual, {}, Math.min(parts, Number(code.workItems)));
    return { got: actual['out']!, wanted: expected.get('out')! };
  });
}

export function expectClose(got: readonly number[], wanted: readonly number[]): void {
  const scale = wanted.reduce((max, x) => Math.max(max, Math.abs(x)), 1e-30);
  got.forEach((value, i) =>
    expect(Math.abs(value - wanted[i]!) / scale, `element ${i}`).toBeLessThan(2e-6),
  );
}
