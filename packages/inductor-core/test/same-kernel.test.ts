/**
 * @file Kernels are kept once where they are the same, whatever they are called.
 */
import { describe, expect, it } from 'vitest';
import { IrBuilder, type LoopKernel } from '../src/index.js';
import { sameKernel } from '../src/ir/same-kernel.js';

/** `out[i] = a[i] + value`, by a builder of its own. */
function plus(value: number, { name = 'k', size = 8, a = 'a' } = {}): LoopKernel {
  const ir = new IrBuilder();
  const i = ir.sym('i', size);
  const sum = ir.op('add', [ir.load('float32', a, i), ir.const('float32', value)]);
  return {
    kind: 'loop',
    name,
    params: [
      { name: a, dtype: 'float32', access: 'read' },
      { name: 'out', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    outer: [{ name: 'i', size }],
    inner: [],
    stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value: sum }] }],
  };
}

describe('sameKernel', () => {
  it('compares what kernels compute, not their names or objects', () => {
    expect(sameKernel(plus(1), plus(1, { name: 'other' }))).toBe(true);
  });

  it('tells apart numbers, signs of zero, sizes and buffers', () => {
    expect(sameKernel(plus(1), plus(2))).toBe(false);
    expect(sameKernel(plus(0), plus(-0))).toBe(false);
    expect(sameKernel(plus(NaN), plus(NaN))).toBe(true);
    expect(sameKernel(plus(1), plus(1, { size: 9 }))).toBe(false);
    expect(sameKernel(plus(1), plus(1, { a: 'b' }))).toBe(false);
  });
});
