/**
 * @file Checks of values in the loop IR: when they are made, when they are proven away, what they refuse.
 */
import { config } from '@tessera/shared';
import { indexCheck } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type ExecutionPlan,
  IrBuilder,
  type LoopKernel,
  checksOf,
  compileGraph,
  interpretKernel,
  interpretPlan,
  planFromJson,
  planToJson,
  printKernel,
  verifyKernel,
} from '../src/index.js';
import { GraphBuilder, target } from './graph-builder.js';

function planOf(build: (g: GraphBuilder) => ReturnType<GraphBuilder['op']>): ExecutionPlan {
  const g = new GraphBuilder();
  return compileGraph(g.done(build(g)), { backend: target() });
}

const checksIn = (plan: ExecutionPlan): readonly unknown[] =>
  plan.kernels.flatMap((kernel) => checksOf(kernel).list);

const gatherPlan = (): ExecutionPlan =>
  planOf((g) => g.op('gather', g.input([4]), 0, g.input([3], 'int64')));

describe('checks of indices', () => {
  it('stand where the index is used', () => {
    expect(printKernel(gatherPlan().kernels[0]!)).toMatchInlineSnapshot(`
      "loop fused_copy_0(in0: i64, in1: f32, write out0: f32)
        for [i0:3]
        outer:
          t0: i64 = in0[i0]
          t1: bool = within(t0, 4)
          t2: i32 = i32(t0)
          t3: i32 = t2 checked t1 (gather index < 4: t0)
          t4: f32 = in1[t3]
          out0[i0] = t4"
    `);
  });

  it('refuse what is outside and name the operator, the index and the size', () => {
    const run = (...indices: bigint[]) =>
      interpretPlan(gatherPlan(), [new Float32Array([5, 6, 7, 8]), BigInt64Array.from(indices)])[0];
    expect([...run(0n, 3n, 1n)!]).toEqual([5, 8, 6]);
    for (const index of [4n, -1n, 2n ** 40n])
      expect(() => run(0n, index, 1n)).toThrow(
        expect.objectContaining({
          code: 'index-out-of-range',
          message: expect.stringContaining(
            `gather: index ${index} is out of bounds for dimension with size 4`,
          ),
        }),
      );
  });

  it('count negative indices from the end once, where the operator does', () => {
    const plan = planOf((g) => g.op('index.Tensor', g.input([4]), [g.input([2], 'int64')]));
    const run = (...indices: bigint[]) =>
      interpretPlan(plan, [new Float32Array([5, 6, 7, 8]), BigInt64Array.from(indices)])[0];
    expect([...run(-1n, -4n)!]).toEqual([8, 5]);
    expect(() => run(-5n, 0n)).toThrow(expect.objectContaining({ code: 'index-out-of-range' }));
  });

  it('are made once for an index that is used twice', () => {
    const plan = planOf((g) => {
      const [x, y, i] = [g.input([4, 8]), g.input([4, 8]), g.input([3], 'int64')];
      return g.op('add.Tensor', g.op('index_select', x, 0, i), g.op('index_select', y, 0, i));
    });
    expect(plan.kernels).toHaveLength(1);
    expect(printKernel(plan.kernels[0]!).match(/ checked /g)).toHaveLength(1);
  });

  it('are left out where the index is known to be in range', () => {
    const select = (index: (g: GraphBuilder) => ReturnType<GraphBuilder['op']>) =>
      checksIn(planOf((g) => g.op('index_select', g.input([8, 2]), 0, index(g))));
    expect(select((g) => g.op('arange', 8))).toEqual([]);
    expect(select((g) => g.op('arange', 9))).toHaveLength(1);
    const some = (g: GraphBuilder) => g.input([5], 'int64');
    expect(select((g) => g.op('remainder.Scalar', some(g), 8))).toEqual([]);
    expect(select((g) => g.op('remainder.Scalar', some(g), 9))).toHaveLength(1);
    expect(select((g) => g.op('clamp', some(g), 0, 7))).toEqual([]);
    expect(select((g) => g.op('clamp', some(g), 0, 8))).toHaveLength(1);
    const bit = (g: GraphBuilder) => g.op('_to_copy', g.op('gt.Scalar', some(g), 3), 'int64');
    expect(select(bit)).toEqual([]);
    // A byte of a bool in memory need not be 0 or 1.
    expect(select((g) => g.op('_to_copy', g.input([5], 'bool'), 'int64'))).toHaveLength(1);
  });

  it('are left out when switched off, and places are clamped', () => {
    const plan = config.patch({ 'inductor.checkIndices': false }, gatherPlan);
    expect(checksIn(plan)).toEqual([]);
    const [result] = interpretPlan(plan, [
      new Float32Array([5, 6, 7, 8]),
      BigInt64Array.of(9n, -3n, 1n),
    ]);
    expect([...result!]).toEqual([8, 5, 6]);
  });

  it('survive the way through JSON', () => {
    const plan = gatherPlan();
    const read = planFromJson(planToJson(plan));
    expect(read.kernels.map(printKernel)).toEqual(plan.kernels.map(printKernel));
    expect(checksIn(read)).toEqual([indexCheck('gather', 4)]);
  });
});

describe('checks of other values', () => {
  it('refuse labels that are neither a class nor ignored', () => {
    const plan = planOf((g) =>
      g.item(g.op('nll_loss_forward', g.input([2, 3]), g.input([2], 'int64'), null, 2, -100), 0),
    );
    const run = (...labels: bigint[]) =>
      interpretPlan(plan, [new Float32Array([1, 2, 3, 4, 5, 6]), BigInt64Array.from(labels)])[0];
    expect([...run(-100n, 2n)!]).toEqual([-6]);
    expect(() => run(3n, 2n)).toThrow(
      expect.objectContaining({
        code: 'index-out-of-range',
        message: expect.stringContaining('nll_loss: Target 3 is out of bounds for 3 classes'),
      }),
    );
  });

  it('refuse integer divisors of zero, not floats', () => {
    const divide = (dtype: 'int64' | 'float32') =>
      planOf((g) => g.op('remainder.Tensor', g.input([2], dtype), g.input([2], dtype)));
    expect(() =>
      interpretPlan(divide('int64'), [BigInt64Array.of(5n, 6n), BigInt64Array.of(3n, 0n)]),
    ).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringContaining('ZeroDivisionError'),
      }),
    );
    expect(checksIn(divide('float32'))).toEqual([]);
    expect(checksIn(planOf((g) => g.op('remainder.Scalar', g.input([2], 'int64'), 4)))).toEqual([]);
  });
});

describe('a check in a kernel', () => {
  const ir = new IrBuilder();
  const i = ir.sym('i0', 4);
  const index = ir.load('int64', 'in0', i);
  const within = ir.op('lt', [index, ir.const('int64', 4)]);
  const checked = ir.check(indexCheck('test', 4), index, within, index);
  const value = ir.load('float32', 'in1', ir.value(checked));
  const kernel = (stored: typeof value): LoopKernel => ({
    kind: 'loop',
    name: 'test',
    params: [
      { name: 'in0', dtype: 'int64', access: 'read' },
      { name: 'in1', dtype: 'float32', access: 'read' },
      { name: 'out0', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    outer: [{ name: 'i0', size: 4 }],
    inner: [],
    stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out0', index: i, value: stored }] }],
  });

  it('holds where a mask around it is false', () => {
    const first = ir.op('lt', [ir.index('int64', i), ir.const('int64', 2)]);
    const masked = kernel(ir.masked(first, value, -1));
    verifyKernel(masked);
    const out = new Float32Array(4);
    const buffers = { in1: new Float32Array([5, 6, 7, 8]), out0: out };
    interpretKernel(masked, { in0: BigInt64Array.of(3n, 0n, 99n, 99n), ...buffers });
    expect([...out]).toEqual([8, 5, -1, -1]);
    expect(() =>
      interpretKernel(masked, { in0: BigInt64Array.of(3n, 99n, 0n, 0n), ...buffers }),
    ).toThrow(expect.objectContaining({ code: 'index-out-of-range' }));
    // The condition itself says so: code that evaluates both sides needs to know nothing of masks.
    expect(printKernel(masked)).toContain('|');
    expect(ir.masked(first, (masked.stages[0]!.body[0] as { value: typeof value }).value, -1)).toBe(
      (masked.stages[0]!.body[0] as { value: typeof value }).value,
    );
  });

  it('is not made weaker by a mask that makes it too', () => {
    const first = ir.op('lt', [ir.index('int32', ir.value(checked)), ir.const('int32', 2)]);
    expect(ir.masked(first, value, -1)).toMatchObject({ kind: 'masked', mask: first, body: value });
  });

  it('has a bool condition', () => {
    const broken = { ...checked, ok: index } as typeof value;
    const load = { ...(value as object), index: { kind: 'value', value: broken } } as typeof value;
    verifyKernel(kernel(value));
    expect(() => verifyKernel(kernel(load))).toThrow(/condition of a check must be bool/);
  });
});
