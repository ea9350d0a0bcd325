/**
 * The schedules of attention in tiles: as text, verified, and interpreted beside the kernels they are made from.
 */
import {
  type AttentionChoices,
  type AttentionKernel,
  type AttentionTile,
  type BufferData,
  interpretKernel,
  interpretScheduled,
  printScheduled,
  scheduleAttention,
  type ScheduledKernel,
  type ScheduledStmt,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { scheduleTarget } from '../src/codegen/target.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import {
  attentionData,
  forwardAttention,
  gradientAttention,
  keptAttention,
  type AttentionSpec,
} from './support/attention-kernel.js';

const SOFTWARE: WgslTarget = { ...BASELINE_TARGET, software: true, parallelism: 4 };

const SMALL: AttentionTile = { bm: 16, bn: 16, bk: 8, tm: 4, tn: 4, slices: 1 };
/** Of two groups of rows and of columns a thread. */
const BLOCKS: AttentionTile = { bm: 16, bn: 16, bk: 8, tm: 8, tn: 8, slices: 1 };

/** Interprets a kernel and its schedule on the same buffers. */
function compare(
  kernel: AttentionKernel,
  data: Readonly<Record<string, readonly number[]>>,
  choices: AttentionChoices = {},
  target = BASELINE_TARGET,
): void {
  const scheduled = scheduleAttention(kernel, scheduleTarget(target), choices);
  verifyScheduled(scheduled);
  const copied = (): Record<string, BufferData> =>
    Object.fromEntries(kernel.params.map(({ name }) => [name, [...data[name]]]));
  const [wanted, got] = [copied(), copied()];
  interpretKernel(kernel, wanted);
  interpretScheduled(scheduled, { buffers: got, subgroupSize: 32 });
  for (const { name } of kernel.params.filter(({ access }) => access !== 'read'))
    for (const [i, value] of Array.from(wanted[name]!, Number).entries()) {
      const found = Number(got[name]![i]);
      const error = Math.abs(found - value) / (1 + Math.abs(value));
      if (!(found === value || error < 1e-5))
        expect({ name, i, found }).toEqual({ name, i, found: value });
    }
}

describe('schedules of attention in tiles', () => {
  it('of a softmax under a triangle: scores, weights, what they are shrunk to, products', () => {
    const spec: AttentionSpec = { batch: 1, m: 20, j: 20, width: 8, triangle: 'lower' };
    const choices = { tile: SMALL, unrolled: false };
    const kernel = forwardAttention(spec);
    const scheduled = scheduleAttention(kernel, scheduleTarget(BASELINE_TARGET), choices);
    expect(printScheduled(scheduled)).toMatchInlineSnapshot(`
      "scheduled attention
        grid group: 2
        threads lane: 16
        shared slab_a.false: f32[8, 20]
        shared slab_b.false: f32[8, 20]
        shared slab_v.true: f32 × 4[8, 5]
        shared weights.: f32 × 4[16, 5]
        shared rows.: f32 × 4[4, 4]
        routine load_a0(batch, along, depth): f32
          let b0 = 0
          let m0 = along
          let k0 = depth
          vector k0 + 0..3
            t0: f32 = q[160*b0 + 8*m0 + k0]
            give t0
        routine load_b0(batch, along, depth): f32
          let b0 = 0
          let j1 = along
          let k0 = depth
          vector k0 + 0..3
            t0: f32 = k[160*b0 + 8*j1 + k0]
            give t0
        routine load_v0(batch, along, depth): f32
          let b0 = 0
          let n0 = along
          let j1 = depth
          vector n0 + 0..3
            t0: f32 = v[160*b0 + 8*j1 + n0]
            give t0 where depth < 20, or 0
        routine store_c(batch, down, along, product0)
          exit unless down < 20 and along < 8
          let b0 = 0
          let m0 = down
          let n0 = along
          vector n0 + 0..3
            out[160*b0 + 8*m0 + n0] = acc0
        routine store_row(batch, down, sum)
          exit unless down < 20
          let b0 = 0
          let m0 = down
          sums[20*b0 + m0] = acc0
        routine weigh0(batch, down, along, score0): f32
          let b0 = 0
          let m0 = down
          let j1 = along
          vector j1 + 0..3
            t0: i32 = index(j1)
            t1: i32 = index(m0)
            t2: bool = t0 <= t1
            t3: f32 = acc0 * 0.25
            t4: f32 = bias[20*m0 + j1]
            t5: f32 = t3 + t4
            t6: f32 = where(t2, t5, -Infinity)
            give t6 where j1 < 20, or -Infinity
        let tile = group
        let batch = tile mod 1
        let first_m = (2 + 1*-1 + tile*-1)*16
        let column = lane mod 4
        let row = lane div 4
        clear r0_0_0, r0_1_0, r0_2_0, r0_3_0
        begin peak0 = -3.4028234663852886e+38
        clear total0
        let end_block = (first_m + 31) div 16 at most 2
        loop block from 0 to end_block
          let first_j = block*16
          clear s0_0_0, s0_1_0, s0_2_0, s0_3_0
          clear next_a00, next_a01, next_b00, next_b01
          next_a00 = load_a0(batch, first_m + lane div 2, (lane mod 2)*4)
          next_a01 = load_a0(batch, first_m + (lane + 16) div 2, ((lane + 16) mod 2)*4)
          next_b00 = load_b0(batch, first_j + lane div 2, (lane mod 2)*4)
          next_b01 = load_b0(batch, first_j + (lane + 16) div 2, ((lane + 16) mod 2)*4)
          loop step from 0 to 1
            slab_a.false[(lane mod 2)*4, lane div 2] = next_a00.0
            slab_a.false[(lane mod 2)*4 + 1, lane div 2] = next_a00.1
            slab_a.false[(lane mod 2)*4 + 2, lane div 2] = next_a00.2
            slab_a.false[(lane mod 2)*4 + 3, lane div 2] = next_a00.3
            slab_a.false[((lane + 16) mod 2)*4, (lane + 16) div 2] = next_a01.0
            slab_a.false[((lane + 16) mod 2)*4 + 1, (lane + 16) div 2] = next_a01.1
            slab_a.false[((lane + 16) mod 2)*4 + 2, (lane + 16) div 2] = next_a01.2
            slab_a.false[((lane + 16) mod 2)*4 + 3, (lane + 16) div 2] = next_a01.3
            slab_b.false[(lane mod 2)*4, lane div 2] = next_b00.0
            slab_b.false[(lane mod 2)*4 + 1, lane div 2] = next_b00.1
            slab_b.false[(lane mod 2)*4 + 2, lane div 2] = next_b00.2
            slab_b.false[(lane mod 2)*4 + 3, lane div 2] = next_b00.3
            slab_b.false[((lane + 16) mod 2)*4, (lane + 16) div 2] = next_b01.0
            slab_b.false[((lane + 16) mod 2)*4 + 1, (lane + 16) div 2] = next_b01.1
            slab_b.false[((lane + 16) mod 2)*4 + 2, (lane + 16) div 2] = next_b01.2
            slab_b.false[((lane + 16) mod 2)*4 + 3, (lane + 16) div 2] = next_b01.3
            barrier
            loop kk from 0 to 8
              a0 = (slab_a.false[kk, row*4], slab_a.false[kk, row*4 + 1], slab_a.false[kk, row*4 + 2], slab_a.false[kk, row*4 + 3])
              b0 = (slab_b.false[kk, column*4], slab_b.false[kk, column*4 + 1], slab_b.false[kk, column*4 + 2], slab_b.false[kk, column*4 + 3])
              s0_0_0..s0_3_0 += (a0) × (b0)
            barrier
          s0_0_0 = weigh0(batch, first_m + row*4, first_j + column*4, s0_0_0)
          s0_1_0 = weigh0(batch, first_m + row*4 + 1, first_j + column*4, s0_1_0)
          s0_2_0 = weigh0(batch, first_m + row*4 + 2, first_j + column*4, s0_2_0)
          s0_3_0 = weigh0(batch, first_m + row*4 + 3, first_j + column*4, s0_3_0)
          begin next0 = (larger of all in s0_0_0, larger of all in s0_1_0, larger of all in s0_2_0, larger of all in s0_3_0)
          rows.[column, row] = next0
          barrier
          next0 = rows.[0, row]
          loop other from 1 to 4
            next0 = larger(next0, rows.[other, row])
          next0 = larger(next0, peak0)
          shrink0 = quick exp(sub(peak0, next0))
          peak0 = next0
          s0_0_0 = quick exp(sub(s0_0_0, peak0.0))
          s0_1_0 = quick exp(sub(s0_1_0, peak0.1))
          s0_2_0 = quick exp(sub(s0_2_0, peak0.2))
          s0_3_0 = quick exp(sub(s0_3_0, peak0.3))
          total0 = add(mul(total0, shrink0), (add of all in s0_0_0, add of all in s0_1_0, add of all in s0_2_0, add of all in s0_3_0))
          r0_0_0 = mul(r0_0_0, shrink0.0)
          r0_1_0 = mul(r0_1_0, shrink0.1)
          r0_2_0 = mul(r0_2_0, shrink0.2)
          r0_3_0 = mul(r0_3_0, shrink0.3)
          weights.[column*4, row] = (s0_0_0.0, s0_1_0.0, s0_2_0.0, s0_3_0.0)
          weights.[column*4 + 1, row] = (s0_0_0.1, s0_1_0.1, s0_2_0.1, s0_3_0.1)
          weights.[column*4 + 2, row] = (s0_0_0.2, s0_1_0.2, s0_2_0.2, s0_3_0.2)
          weights.[column*4 + 3, row] = (s0_0_0.3, s0_1_0.3, s0_2_0.3, s0_3_0.3)
          clear next_v00, next_v01
          next_v00 = load_v0(batch, (lane mod 4)*4, first_j + lane div 4)
          next_v01 = load_v0(batch, ((lane + 16) mod 4)*4, first_j + (lane + 16) div 4)
          loop step from 0 to 2
            slab_v.true[lane div 4, lane mod 4] = next_v00
            slab_v.true[(lane + 16) div 4, (lane + 16) mod 4] = next_v01
            barrier
            when step + 1 < 2
              next_v00 = load_v0(batch, (lane mod 4)*4, first_j + (step + 1)*8 + lane div 4)
              next_v01 = load_v0(batch, ((lane + 16) mod 4)*4, first_j + (step + 1)*8 + (lane + 16) div 4)
            let first_k = step*8
            loop kk from 0 to 8
              a0 = weights.[first_k + kk, row]
              b0 = slab_v.true[kk, column]
              r0_0_0..r0_3_0 += (a0) × (b0)
            barrier
        rows.[column, row] = total0
        barrier
        total0 = rows.[0, row]
        loop other from 1 to 4
          total0 = add(total0, rows.[other, row])
        divisor0 = equal(total0, 0, 1, total0)
        r0_0_0 = div(r0_0_0, divisor0.0)
        r0_1_0 = div(r0_1_0, divisor0.1)
        r0_2_0 = div(r0_2_0, divisor0.2)
        r0_3_0 = div(r0_3_0, divisor0.3)
        store_c(batch, first_m + row*4, column*4, r0_0_0)
        store_c(batch, first_m + row*4 + 1, column*4, r0_1_0)
        store_c(batch, first_m + row*4 + 2, column*4, r0_2_0)
        store_c(batch, first_m + row*4 + 3, column*4, r0_3_0)
        when column is 0
          store_row(batch, first_m + row*4, equal(total0.0, 0, -Infinity, add(peak0.0, log(divisor0.0))))
          store_row(batch, first_m + row*4 + 1, equal(total0.1, 0, -Infinity, add(peak0.1, log(divisor0.1))))
          store_row(batch, first_m + row*4 + 2, equal(total0.2, 0, -Infinity, add(peak0.2, log(divisor0.2))))
          store_row(batch, first_m + row*4 + 3, equal(total0.3, 0, -Infinity, add(peak0.3, log(divisor0.3))))"
    `);
  });

  const shapes: readonly AttentionSpec[] = [
    { batch: 2, m: 16, j: 32, width: 8 },
    { batch: 1, m: 19, j: 21, width: 10 },
    { batch: 1, m: 5, j: 1, width: 4 },
  ];
  for (const spec of shapes)
    it(`give what the kernel gives: ${JSON.stringify(spec)}`, () => {
      const data = attentionData(spec);
      for (const triangle of ['none', 'lower'] as const) {
        const kernel = forwardAttention({ ...spec, triangle });
        compare(kernel, data);
        compare(kernel, data, {}, SOFTWARE);
        for (const tile of [SMALL, BLOCKS])
          for (const inSubgroup of [false, true])
            compare(kernel, data, { tile, inSubgroup, unrolled: tile === SMALL });
      }
      for (const triangle of ['none', 'upper'] as const)
        for (const tile of [SMALL, BLOCKS])
          compare(gradientAttention({ ...spec, triangle }), data, { tile });
    });

  it('of columns in turns', () => {
    const spec: AttentionSpec = { batch: 2, m: 17, j: 18, width: 6, turns: 3, triangle: 'upper' };
    compare(gradientAttention(spec), attentionData(spec), { tile: SMALL });
  });

  it('of weights that are stored, and of sums with them', () => {
    for (const spec of shapes) {
      const data = { ...attentionData(spec), kept: Array(spec.batch * spec.j * spec.m).fill(0) };
      for (const tile of [SMALL, BLOCKS]) {
        for (const triangle of ['none', 'upper'] as const)
          compare(gradientAttention({ ...spec, triangle, kept: true }), data, { tile });
        for (const triangle of ['none', 'lower'] as const)
          compare(keptAttention({ ...spec, triangle }), attentionData(spec), { tile });
      }
    }
    const turns: AttentionSpec = { batch: 2, m: 17, j: 18, width: 6, turns: 3, kept: true };
    compare(gradientAttention(turns), attentionData(turns), { tile: SMALL });
  });

  it('of rows that see nothing: zeros and -∞', () => {
    const spec: AttentionSpec = { batch: 1, m: 20, j: 40, width: 8 };
    compare(forwardAttention(spec), attentionData(spec, [0, 7, 19]), { tile: SMALL });
  });

  it('of no results and of surplus groups', () => {
    const none: AttentionSpec = { batch: 0, m: 4, j: 4, width: 4 };
    compare(forwardAttention(none), attentionData(none));
    const many: AttentionSpec = { batch: 3, m: 40, j: 4, width: 4 };
    const short = { ...BASELINE_TARGET, maxWorkgroupsPerDimension: 4 };
    compare(forwardAttention(many), attentionData(many), { tile: SMALL }, short);
  });
});

describe('verifyScheduled of values in registers', () => {
  const scheduled = scheduleAttention(
    forwardAttention({ batch: 1, m: 16, j: 16, width: 8 }),
    scheduleTarget(BASELINE_TARGET),
    { tile: SMALL },
  );
  const broken = (stmt: ScheduledStmt): ScheduledKernel => ({
    ...scheduled,
    body: [...scheduled.body, stmt],
  });
  const zero = { kind: 'int', value: 0 } as const;
  const peak = { kind: 'register', name: 'peak0' } as const;
  const cases: readonly (readonly [string, RegExp, ScheduledStmt])[] = [
    [
      'operations of too few values',
      /'equal' of 1 values/,
      { kind: 'set', register: 'x', value: { kind: 'op', op: 'equal', of: [peak] } },
    ],
    [
      'routines without their results',
      /'store_row' has 1 results/,
      { kind: 'visit', routine: 'store_row', at: [zero, zero], of: [] },
    ],
    [
      'four values where one is handed',
      /4 values where 1 are wanted/,
      {
        kind: 'visit',
        routine: 'store_row',
        at: [zero, zero],
        of: [peak],
      },
    ],
    [
      'pairs that not all threads come to',
      /not all threads may reach a pair/,
      {
        kind: 'when',
        all: [{ kind: 'first', index: { kind: 'sym', name: 'lane' } }],
        body: [{ kind: 'pair', of: ['peak0'], by: 'larger', bit: 1 }],
      },
    ],
  ];
  for (const [name, message, stmt] of cases)
    it(`refuses ${name}`, () => {
      expect(() => verifyScheduled(broken(stmt))).toThrow(message);
    });
});
