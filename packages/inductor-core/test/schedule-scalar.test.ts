/**
 * @file Schedules for a machine that does one thing after another.
 */
import type { Node } from '@tessera/graph';
import { describe, expect, it } from 'vitest';
import {
  type GeneratedKernel,
  REFERENCE_TARGET,
  type ScalarTarget,
  printScheduled,
  scheduleScalar,
} from '../src/index.js';
import { attentionGraph, CASES } from './attention-graph.js';
import { GraphBuilder } from './graph-builder.js';
import { Dice, randomGraph } from './random-graph.js';
import { compareSchedules, planOf, type Scheduler } from './run-schedules.js';

const WIDE: ScalarTarget = { ...REFERENCE_TARGET, kind: 'scalar' };
const NARROW: ScalarTarget = { ...WIDE, widestFloat: 'float32' };
const scheduler =
  (target: ScalarTarget): Scheduler =>
  (kernel) =>
    scheduleScalar(kernel, target);

/** Schedules of a graph's kernels as text; they also compute what the kernels do. */
function schedules(build: (b: GraphBuilder) => Node[], target: ScalarTarget = WIDE): string {
  const b = new GraphBuilder();
  const plan = planOf(b.done(...build(b)));
  compareSchedules(plan, scheduler(target));
  return plan.kernels
    .map((kernel) => printScheduled(scheduleScalar(kernel as GeneratedKernel, target)))
    .join('\n\n');
}

describe('scheduleScalar', () => {
  it('visits the points of a pointwise kernel one after another', () => {
    expect(schedules((b) => [b.op('relu', b.op('add.Tensor', b.input([3, 4]), b.input([4])))]))
      .toMatchInlineSnapshot(`
      "scheduled fused_add_relu_0
        grid i0: 3
        loop i1 from 0 to 4
          t0: f32 = in0[4*i0 + i1]
          t1: f32 = in1[i1]
          t2: f32 = t0 + t1
          t3: f32 = maximum(t2, 0)
          out0[4*i0 + i1] = t3"
    `);
  });

  it('makes a softmax of one pass for its statistics and one for its values', () => {
    expect(schedules((b) => [b.op('_softmax', b.input([3, 5]), 1, false)])).toMatchInlineSnapshot(`
      "scheduled fused_softmax_0
        grid i0: 3
        accumulator online_softmax0: online_softmax of f64 gives acc0, acc1: f32
        start online_softmax0
        loop r0 from 0 to 5
          t0: f32 = in0[5*i0 + r0]
          t1: f64 = f64(t0)
          update online_softmax0 with t1 at r0
        part online_softmax0
        finish online_softmax0
        loop r0 from 0 to 5
          t0: f32 = in0[5*i0 + r0]
          t1: f32 = t0 - acc0
          t2: f32 = exp(t1)
          t3: f32 = t2 / acc1
          out0[5*i0 + r0] = t3"
    `);
  });

  it('sums a product, whose epilogue follows', () => {
    expect(
      schedules((b) => [
        b.op('relu', b.op('addmm', b.input([4]), b.input([2, 3]), b.input([3, 4]))),
      ]),
    ).toMatchInlineSnapshot(`
      "scheduled fused_addmm_relu_0
        grid m0: 2
        accumulator sum0: sum of f64 gives acc0: f32
        loop n0 from 0 to 4
          start sum0
          loop k0 from 0 to 3
            t0: f32 = in0[3*m0 + k0]
            t1: f64 = f64(t0)
            t2: f32 = in1[4*k0 + n0]
            t3: f64 = f64(t2)
            t4: f64 = t1 * t3
            update sum0 with t4 at k0
          part sum0
          finish sum0
          t10: f32 = in2[n0]
          t11: f32 = acc0 + t10
          t12: f32 = maximum(t11, 0)
          out0[4*m0 + n0] = t12"
    `);
  });

  it('takes a convolution for a product with masked loads', () => {
    expect(
      schedules((b) => [
        b.op(
          'convolution',
          ...[b.input([1, 2, 5, 5]), b.input([3, 2, 3, 3]), null, [1, 1], [1, 1], [1, 1]],
          ...[false, [0, 0], 1],
        ),
      ]),
    ).toMatchInlineSnapshot(`
      "scheduled fused_convolution_0
        grid m0: 3
        accumulator sum0: sum of f64 gives acc0: f32
        loop n0 from 0 to 5
          loop n1 from 0 to 5
            start sum0
            loop k0 from 0 to 2
              loop k1 from 0 to 3
                loop k2 from 0 to 3
                  t0: f32 = in0[18*m0 + 9*k0 + 3*k1 + k2]
                  t1: f64 = f64(t0)
                  t2: i32 = index(n0 + k1 - 1)
                  t3: bool = t2 >= 0
                  t4: bool = t2 < 5
                  t5: bool = t3 & t4
                  t6: i32 = index(n1 + k2 - 1)
                  t7: bool = t6 >= 0
                  t8: bool = t6 < 5
                  t9: bool = t7 & t8
                  t10: bool = t5 & t9
                  t11: f32 = in1[25*k0 + 5*n0 + 5*k1 + n1 + k2 - 6]
                  t12: f32 = t11 if t10 else 0
                  t13: f64 = f64(t12)
                  t14: f64 = t1 * t13
                  update sum0 with t14 at 9*k0 + 3*k1 + k2
            part sum0
            finish sum0
            out0[25*m0 + 5*n0 + n1] = acc0"
    `);
  });

  it('keeps the weights of one row of attention', () => {
    const plan = planOf(attentionGraph(CASES[1]!));
    const [first] = plan.kernels.filter(({ kind }) => kind === 'attention');
    expect(printScheduled(scheduleScalar(first as GeneratedKernel, WIDE))).toMatchInlineSnapshot(`
      "scheduled fused_scaled_dot_product_flash_attention_for_cpu_0
        grid b0: 2
        scratch weights0: f64[18]
        accumulator online_softmax2: online_softmax of f64 gives acc2, acc3: f64
        accumulator sum1: sum of f64 gives acc1: f32
        accumulator sum0: sum of f64 gives acc0: f32
        loop b1 from 0 to 2
          loop m0 from 0 to 18
            start online_softmax2
            loop j0 from 0 to min(18, m0 + 1)
              start sum1
              loop k0 from 0 to 6
                t0: f32 = in0[216*b0 + 108*b1 + 6*m0 + k0]
                t1: f64 = f64(t0)
                t2: f32 = in1[216*b0 + 108*b1 + 6*j0 + k0]
                t3: f64 = f64(t2)
                t4: f64 = t1 * t3
                update sum1 with t4 at k0
              part sum1
              finish sum1
              t10: i32 = index(j0)
              t11: i32 = index(m0)
              t12: bool = t10 <= t11
              t13: f32 = acc1 * 0.40824830532073975
              t14: f32 = where(t12, t13, -Infinity)
              t15: f64 = f64(t14)
              update online_softmax2 with t15 at j0
              weights0[j0] = t15
            part online_softmax2
            finish online_softmax2
            loop j0 from 0 to min(18, m0 + 1)
              t0: bool = acc2 == -Infinity
              t1: f64 = weights0[j0]
              t2: f64 = t1 - acc2
              t3: f64 = exp(t2)
              t4: f64 = t3 / acc3
              t5: f64 = where(t0, 0, t4)
              weights0[j0] = t5
            t30: bool = acc2 == -Infinity
            t31: f64 = log(acc3)
            t32: f64 = acc2 + t31
            t33: f64 = where(t30, acc2, t32)
            t34: f32 = f32(t33)
            out1[36*b0 + 18*b1 + m0] = t34
            loop n0 from 0 to 6
              start sum0
              loop j0 from 0 to min(18, m0 + 1)
                t0: f64 = weights0[j0]
                t1: f32 = in2[216*b0 + 108*b1 + 6*j0 + n0]
                t2: f64 = f64(t1)
                t3: f64 = t0 * t2
                update sum0 with t3 at j0
              part sum0
              finish sum0
              out0[216*b0 + 108*b1 + 6*m0 + n0] = acc0"
    `);
  });

  it('knows the results of a scan at each point', () => {
    expect(schedules((b) => [b.op('cumsum', b.input([2, 6]), 1)])).toMatchInlineSnapshot(`
      "scheduled fused_cumsum_0
        grid i0: 2
        accumulator sum0: running sum of f64 gives acc0: f32
        start sum0
        loop r0 from 0 to 6
          t0: f32 = in0[6*i0 + r0]
          t1: f64 = f64(t0)
          update sum0 with t1 at r0
          out0[6*i0 + r0] = acc0"
    `);
  });

  it('settles long sums where there is no wider float', () => {
    expect(schedules((b) => [b.op('sum.dim_IntList', b.input([2, 100]), [1])], NARROW))
      .toMatchInlineSnapshot(`
      "scheduled fused_sum_0
        grid i0: 2
        accumulator sum0: sum of f32 gives acc0: f32
        start sum0
        loop r0 from 0 to 100
          t0: f32 = in0[100*i0 + r0]
          update sum0 with t0 at r0
          when r0 mod 32 is 0
            settle sum0
        part sum0
        finish sum0
        out0[i0] = acc0"
    `);
  });

  for (const target of [WIDE, NARROW]) {
    const name = target.widestFloat;
    it.each(CASES)(`computes attention and its gradients in ${name}: %j`, (item) => {
      compareSchedules(planOf(attentionGraph(item)), scheduler(target));
    });

    it(`computes what kernels of random graphs do in ${name}`, () => {
      for (let seed = 1; seed <= 40; seed++) {
        const { module } = randomGraph(new Dice(seed), 4 + (seed % 24));
        compareSchedules(planOf(module), scheduler(target), seed);
      }
    });
  }
});
