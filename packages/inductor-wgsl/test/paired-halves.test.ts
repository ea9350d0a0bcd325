/**
 * Sums over rows of float16 take eight neighbours at a step: in the schedule and in code.
 */
import {
  interpretKernel,
  interpretScheduled,
  IrBuilder,
  type LoopKernel,
  printScheduled,
  scheduleThreads,
  type Stmt,
  verifyKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../src/codegen/generate.js';
import { scheduleTarget } from '../src/codegen/target.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import { wave } from './support/sample-kernels.js';

const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  f16: true,
  subgroups: { min: 32, max: 32 },
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};

/** A row times the rows of a matrix of halves, which are `pitch` apart, and the sum of its squares. */
function rowTimesRows(columns: number, length: number, pitch = length): LoopKernel {
  const b = new IrBuilder();
  const [n, k] = [b.sym('n0', columns), b.sym('k0', length)];
  const load = (name: string, index: typeof n) => b.cast(b.load('float16', name, index), 'float32');
  const x = load('x', k);
  const sum = (id: number, value: typeof x): Stmt => ({
    kind: 'reduce',
    op: 'sum',
    ids: [id],
    dtype: 'float32',
    value,
  });
  const product = b.op('mul', [x, load('w', b.add(b.scale(n, pitch), k))]);
  const value = b.op('mul', [b.acc('float32', 0), b.acc('float32', 1)]);
  return {
    kind: 'loop',
    name: 'row_times_rows',
    params: [
      { name: 'x', dtype: 'float16', access: 'read' },
      { name: 'w', dtype: 'float16', access: 'read' },
      { name: 'out', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    outer: [{ name: 'n0', size: columns }],
    inner: [{ name: 'k0', size: length }],
    stages: [
      { kind: 'inner', body: [sum(0, product), sum(1, b.op('mul', [x, x]))] },
      { kind: 'outer', body: [{ kind: 'store', buf: 'out', index: n, value }] },
    ],
  };
}

const dataOf = (columns: number, length: number, pitch: number): Record<string, number[]> => ({
  x: wave(length),
  w: wave(columns * pitch, 5),
  out: wave(columns),
});

/** Sizes of the inner loops that are scheduled. */
function innerSizes(kernel: LoopKernel, target: WgslTarget): unknown[] {
  const { kernel: used } = scheduleThreads(kernel, scheduleTarget(target));
  return (used as LoopKernel).inner.map(({ size }) => size);
}

describe('halves in pairs', () => {
  it.each([
    [9, 2048, 2048],
    [8, 8192, 8192],
    [5, 40, 48],
    [3, 24 * 1024, 24 * 1024],
  ])('are summed: %i columns of %i', (columns, length, pitch) => {
    const kernel = rowTimesRows(columns, length, pitch);
    const scheduled = scheduleThreads(kernel, scheduleTarget(CARD));
    expect(innerSizes(kernel, CARD)).toEqual([length / 8, 4]);
    verifyKernel(scheduled.kernel as LoopKernel);
    verifyScheduled(scheduled);
    const [wanted, got] = [0, 1].map(() => dataOf(columns, length, pitch));
    interpretKernel(kernel, wanted!);
    interpretScheduled(scheduled, { buffers: got!, subgroupSize: 32 });
    for (const [i, value] of wanted!['out']!.entries())
      expect(Math.abs(got!['out']![i]! - value)).toBeLessThan(1e-3 * (1 + Math.abs(value)));
  });

  it('are one access of 16 bytes each', () => {
    const { text } = generateKernel(rowTimesRows(2048, 8192), CARD);
    expect(text).toContain('w: array<vec4u>');
    const loads = (name: string): string[] => text.match(new RegExp(`= ${name}\\[.*`, 'g')) ?? [];
    expect(loads('w')).toHaveLength(8);
    expect(loads('x')).toHaveLength(8);
    expect(text).toContain('@workgroup_size(256)');
    expect(text).toContain('lane / 128u');
  });

  it('are added in sums of two floats, which leave registers to more threads', () => {
    const kernel = rowTimesRows(2048, 8192);
    expect(printScheduled(scheduleThreads(kernel, scheduleTarget(CARD)))).toContain(
      'accumulator sum.0: narrow sum of f32',
    );
    const { text } = generateKernel(kernel, CARD);
    expect(text).toContain('var sum0 = vec2f(0.0);');
    expect(text).toMatch(/sum0 = sum0 \+ (t\d+)\.xy;\n\s*sum0 = sum0 \+ \1\.zw;/);
    expect(text).toMatch(/var sum0_0 = sum0\.x;\n\s*sum0_0 = sum0_0 \+ sum0\.y;\n/);
    expect(text).not.toMatch(/sum0\.[zw];/);
    // Single halves are not worth it.
    expect(generateKernel(rowTimesRows(8, 2044), CARD).text).toContain('var sum0 = vec4f(0.0);');
  });

  it('are left alone where rows begin between pairs, are wider in memory, or on software', () => {
    expect(innerSizes(rowTimesRows(8, 2048, 2052), CARD)).toEqual([2048]);
    expect(innerSizes(rowTimesRows(8, 2044), CARD)).toEqual([2044]);
    expect(innerSizes(rowTimesRows(8, 2048), { ...CARD, f16: false })).toEqual([2048]);
    expect(innerSizes(rowTimesRows(8, 2048), { ...CARD, software: true })).toEqual([2048]);
  });
});
