/**
 * The schedules of loop kernels for vectors: as text, verified, and interpreted beside the kernels they are made from.
 */
import {
  type Expr,
  type IndexExpr,
  interpretKernel,
  interpretScheduled,
  IrBuilder,
  kernelAt,
  type LoopKernel,
  printKernel,
  printScheduled,
  type ReduceOp,
  type ScheduledBody,
  type ScheduledKernel,
  scheduleVectors,
  type SizeValue,
  type Stage,
  verifyScheduled,
} from '@tessera/inductor-core';
import { compileSize, type Size, type SymInt } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../src/loops/cpu-target.js';
import type { Buffers } from './load-kernel.js';
import { randomKernel } from './random-kernel.js';
import { loop, symbolicLoop, symbols } from './symbolic-kernel.js';

const F32 = 'float32';
const IO: Readonly<Record<string, readonly [DType, 'read' | 'write']>> = {
  x: [F32, 'read'],
  out: [F32, 'write'],
};

function store(index: IndexExpr, value: Expr): Stage['body'][number] {
  return { kind: 'store', buf: 'out', index, value };
}

/** A function of every element. */
function pointwise(size: Size): LoopKernel<Size> {
  const ir = new IrBuilder();
  const i = ir.sym('i', size);
  const value = ir.op('tanh', [ir.load(F32, 'x', i)]);
  return symbolicLoop({
    outer: [loop('i', size)],
    stages: [{ kind: 'outer', body: [store(i, value)] }],
    params: IO,
  });
}

function transpose(rows: number, columns: number): LoopKernel<Size> {
  const ir = new IrBuilder();
  const [i, j] = [ir.sym('i', rows), ir.sym('j', columns)];
  const from = ir.load(F32, 'x', ir.add(ir.scale(j, rows), i));
  return symbolicLoop({
    outer: [loop('i', rows), loop('j', columns)],
    stages: [{ kind: 'outer', body: [store(ir.add(ir.scale(i, columns), j), from)] }],
    params: IO,
  });
}

/** One reduction of a matrix along its rows or columns. */
function reduce(
  op: ReduceOp,
  along: 'rows' | 'columns',
  outer: Size,
  inner: Size,
): LoopKernel<Size> {
  const ir = new IrBuilder();
  const [i, r] = [ir.sym('i', outer), ir.sym('r', inner)];
  const at = along === 'rows' ? ir.add(ir.scale(i, inner), r) : ir.add(ir.scale(r, outer), i);
  const value = ir.load(F32, 'x', at);
  return symbolicLoop({
    outer: [loop('i', outer)],
    inner: [loop('r', inner)],
    stages: [
      { kind: 'inner', body: [{ kind: 'reduce', op, ids: [0], dtype: F32, value }] },
      { kind: 'outer', body: [store(i, ir.acc(F32, 0))] },
    ],
    params: IO,
  });
}

function softmax(rows: Size, columns: Size): LoopKernel<Size> {
  const ir = new IrBuilder();
  const [i, r] = [ir.sym('i', rows), ir.sym('r', columns)];
  const at = ir.add(ir.scale(i, columns), r);
  const x = ir.load(F32, 'x', at);
  const weight = ir.op('exp', [ir.op('sub', [x, ir.acc(F32, 0)])]);
  return symbolicLoop({
    outer: [loop('i', rows)],
    inner: [loop('r', columns)],
    stages: [
      {
        kind: 'inner',
        body: [{ kind: 'reduce', op: 'online_softmax', ids: [0, 1], dtype: F32, value: x }],
      },
      { kind: 'inner', body: [store(at, ir.op('div', [weight, ir.acc(F32, 1)]))] },
    ],
    params: IO,
  });
}

function scan(rows: number, columns: number): LoopKernel<Size> {
  const ir = new IrBuilder();
  const at = ir.add(ir.scale(ir.sym('i', rows), columns), ir.sym('r', columns));
  const value = ir.load(F32, 'x', at);
  return symbolicLoop({
    outer: [loop('i', rows)],
    inner: [loop('r', columns)],
    stages: [
      {
        kind: 'inner',
        body: [
          { kind: 'reduce', op: 'sum', ids: [0], dtype: F32, value, running: true },
          store(at, ir.acc(F32, 0)),
        ],
      },
    ],
    params: IO,
  });
}

/** A row for every 16 elements, added to all of them. */
function digits(size: number): LoopKernel<Size> {
  const ir = new IrBuilder();
  const [i, j] = [ir.sym('i', size), ir.sym('j', 4)];
  const at = ir.add(ir.scale(i, 4), j);
  const row = ir.load(F32, 'row', ir.div(i, 16));
  return symbolicLoop({
    outer: [loop('i', size), loop('j', 4)],
    stages: [{ kind: 'outer', body: [store(at, ir.op('add', [ir.load(F32, 'x', at), row]))] }],
    params: { ...IO, row: [F32, 'read'] },
  });
}

/** Stores at computed places. */
function scatter(size: number): LoopKernel<Size> {
  const ir = new IrBuilder();
  const i = ir.sym('i', size);
  const place = ir.load('int32', 'place', i);
  return symbolicLoop({
    outer: [loop('i', size)],
    stages: [{ kind: 'outer', body: [store(ir.value(place), ir.load(F32, 'x', i))] }],
    params: { ...IO, place: ['int32', 'read'] },
  });
}

function schedule(kernel: LoopKernel<Size>): ScheduledKernel {
  const scheduled = scheduleVectors(kernel, CPU_TARGET);
  verifyScheduled(scheduled);
  return scheduled;
}

function print(kernel: LoopKernel<Size>): string {
  verifyScheduled(scheduleVectors(kernel, CPU_TARGET));
  return printScheduled(scheduleVectors(kernel, CPU_TARGET));
}

describe('schedules for vectors', () => {
  it('of a pointwise kernel: items of many vectors, and a tail', () => {
    expect(print(pointwise(10_003))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 10003
        grid item: 5, about 1851 ns each
        let i@run = item
        let i.begin = i@run*2048
        let i.end = i.begin + 2048 at most 10003
        let stop@i = i.end at most 10000
        loop i from i.begin to stop@i by 16
          vector i + 0..3 × 4
            t0: f32 = x[i]
            t1: f32 = tanh(t0)
            out[i] = t1
        loop i from 10000 to min(i.end, 10003) by 16
          vector i + 0..3, 3 of 4
            t0: f32 = x[i]
            t1: f32 = tanh(t0)
            out[i] = t1"
    `);
  });

  it('of a short pointwise kernel: nothing is cut', () => {
    expect(print(pointwise(32))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 32
        grid item: 1, about 30 ns each
        loop i from 0 to 32 by 16
          vector i + 0..3 × 4
            t0: f32 = x[i]
            t1: f32 = tanh(t0)
            out[i] = t1"
    `);
  });

  it('of a transpose: tiles', () => {
    expect(print(transpose(64, 30))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 64
        variable j: 30
        grid item: 4, about 48 ns each
        let i@run = item
        let i.begin = i@run*16
        let i.end = i.begin + 16
        loop j from 0 to 28 by 4
          loop i from i.begin to i.end by 4
            vector i + 0..3 j × 4
              t0: f32 = x[64*j + i]
              out[30*i + j] = t0
        loop j from 28 to 30 by 4
          loop i from i.begin to i.end by 4
            vector i + 0..3 j × 2
              t0: f32 = x[64*j + i]
              out[30*i + j] = t0"
    `);
  });

  it('of rows: lanes have parts, which settle now and then', () => {
    expect(print(reduce('sum', 'rows', 8, 4096))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 8
        variable r: 4096
        grid item: 8, about 207 ns each
        accumulator sum.0: sum of f32 gives acc0: f32
        let i = item
        start sum.0
        loop r.segment from 0 to 4096 by 512
          let r.end = r.segment + 512
          loop r from r.segment to r.end by 16
            vector r + 0..3 × 4
              t0: f32 = x[4096*i + r]
              update sum.0 with t0 at r
          settle sum.0
        part sum.0
        fold sum.0
        finish sum.0
        out[i] = acc0"
    `);
  });

  it('of columns: each lane has results of its own', () => {
    expect(print(reduce('max', 'columns', 100, 64))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 100
        variable r: 64
        grid item: 5, about 71 ns each
        accumulator max.0: max of f32 gives acc0: f32
        let i@run = item
        let i.begin = i@run*20
        let i.end = i.begin + 20
        loop i from i.begin to i.end by 20
          vector i + 0..3 × 5
            start max.0
            loop r from 0 to 64
              t0: f32 = x[100*r + i]
              update max.0 with t0 at r
            part max.0
            finish max.0
            out[i] = acc0"
    `);
  });

  it('of columns of more rows than a cache holds: blocks of rows, between which sums wait', () => {
    expect(print(reduce('sum', 'columns', 600, 1000))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 600
        variable r: 1000
        grid item: 3, about 11006 ns each
        scratch sum.0.wide: f64[256]
        accumulator sum.0: sum of f32 gives acc0: f32
        let i@run = item
        let i.begin = i@run*256
        let i.end = i.begin + 256 at most 600
        let stop@i = i.end at most 576
        loop i from i.begin to stop@i by 32
          vector i + 0..3 × 8
            start sum.0
            part sum.0
            share sum.0 sum.0.wide[i + i.begin*-1]
        loop i from 576 to min(i.end, 600) by 32
          vector i + 0..3 × 6
            start sum.0
            part sum.0
            share sum.0 sum.0.wide[i + i.begin*-1]
        loop r.segment from 0 to 1000 by 16
          let r.end = r.segment + 16 at most 1000
          let stop@i = i.end at most 576
          loop i from i.begin to stop@i by 32
            vector i + 0..3 × 8
              start sum.0
              loop r from r.segment to r.end
                t0: f32 = x[600*r + i]
                update sum.0 with t0 at r
              part sum.0
              merge sum.0 sum.0.wide[i + i.begin*-1]
              share sum.0 sum.0.wide[i + i.begin*-1]
          loop i from 576 to min(i.end, 600) by 32
            vector i + 0..3 × 6
              start sum.0
              loop r from r.segment to r.end
                t0: f32 = x[600*r + i]
                update sum.0 with t0 at r
              part sum.0
              merge sum.0 sum.0.wide[i + i.begin*-1]
              share sum.0 sum.0.wide[i + i.begin*-1]
        let stop@i = i.end at most 576
        loop i from i.begin to stop@i by 32
          vector i + 0..3 × 8
            fetch sum.0 sum.0.wide[i + i.begin*-1]
            finish sum.0
            out[i] = acc0
        loop i from 576 to min(i.end, 600) by 32
          vector i + 0..3 × 6
            fetch sum.0 sum.0.wide[i + i.begin*-1]
            finish sum.0
            out[i] = acc0"
    `);
  });

  it('of softmax: two passes for the sum, and a row that is kept', () => {
    expect(print(softmax(8, 100))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 8
        variable r: 100
        grid item: 8, about 112 ns each
        scratch row.0: f32[100]
        accumulator peak.0: peak of f32 gives acc0: f32
        accumulator sum.1: sum of f32 gives acc1: f32
        let i = item
        start peak.0
        loop r from 0 to 96 by 16
          vector r + 0..3 × 4
            t0: f32 = x[100*i + r]
            update peak.0 with t0 at r
        loop r from 96 to 100 by 16
          vector r + 0..3
            t0: f32 = x[100*i + r]
            update peak.0 with t0 at r
        part peak.0
        fold peak.0
        finish peak.0
        start sum.1
        loop r from 0 to 96 by 16
          vector r + 0..3 × 4
            t0: f32 = x[100*i + r]
            t1: f32 = t0 - acc0
            t2: f32 = exp(t1)
            keep row.0[r] = t2
            update sum.1 with t2 at r
        loop r from 96 to 100 by 16
          vector r + 0..3
            t0: f32 = x[100*i + r]
            t1: f32 = t0 - acc0
            t2: f32 = exp(t1)
            keep row.0[r] = t2
            update sum.1 with t2 at r
        part sum.1
        fold sum.1
        finish sum.1
        loop r from 0 to 96 by 16
          vector r + 0..3 × 4
            t0: f32 = recall row.0[r]
            t1: f32 = t0 / acc1
            out[100*i + r] = t1
        loop r from 96 to 100 by 16
          vector r + 0..3
            t0: f32 = recall row.0[r]
            t1: f32 = t0 / acc1
            out[100*i + r] = t1"
    `);
  });

  it('of a scan: results are known after each update', () => {
    expect(print(scan(4, 64))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 4
        variable r: 64
        grid item: 1, about 99 ns each
        accumulator sum.0: running sum of f64 gives acc0: f32
        loop i from 0 to 4 by 4
          vector i + 0..3
            start sum.0
            loop r from 0 to 64
              t0: f32 = x[64*i + r]
              update sum.0 with t0 at r
              out[64*i + r] = acc0"
    `);
  });

  it('of a loop that indices divide: its digits are loops', () => {
    expect(print(digits(64))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i.16: 4
        variable j: 64
        grid item: 4, about 6 ns each
        let i.16 = item
        loop j from 0 to 64 by 16
          vector j + 0..3 × 4
            let i = i.16*16
            t1: f32 = x[4*i + j]
            t2: f32 = row[i div 16]
            t3: f32 = t1 + t2
            out[4*i + j] = t3"
    `);
  });

  it('of a scatter: items in order', () => {
    expect(print(scatter(5000))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 5000
        grid item: 3, in order, about 667 ns each
        let i@run = item
        let i.begin = i@run*2048
        let i.end = i.begin + 2048 at most 5000
        let stop@i = i.end at most 4992
        loop i from i.begin to stop@i by 16
          vector i + 0..3 × 4
            t0: f32 = x[i]
            t1: i32 = place[i]
            out[t1] = t0
        loop i from 4992 to min(i.end, 5000) by 16
          vector i + 0..3 × 2
            t0: f32 = x[i]
            t1: i32 = place[i]
            out[t1] = t0"
    `);
  });

  it('of sizes that are symbols: tails of vectors and of elements', () => {
    expect(print(pointwise(symbols(1, 5000)[0]!))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: s0
        grid item: -Math.floor((-s0) / 2048), about 1542 ns each
        let i@run = item
        let i.begin = i@run*2048
        let i.end = i.begin + 2048 at most s0
        let stop@i = i.end at most 16 * Math.floor(s0 / 16)
        loop i from i.begin to stop@i by 16
          vector i + 0..3 × 4
            t0: f32 = x[i]
            t1: f32 = tanh(t0)
            out[i] = t1
        let middle@i = stop@i + ((i.end + stop@i*-1) div 4)*4
        loop i from stop@i to middle@i by 4
          vector i + 0..3
            t0: f32 = x[i]
            t1: f32 = tanh(t0)
            out[i] = t1
        loop i from middle@i to i.end
          vector i + 0..3, 1 of 4
            t0: f32 = x[i]
            t1: f32 = tanh(t0)
            out[i] = t1"
    `);
  });

  it('of rows of a symbolic length: any length may be long', () => {
    expect(print(softmax(4, symbols(1, 96)[0]!))).toMatchInlineSnapshot(`
      "scheduled kernel
        variable i: 4
        variable r: s0
        grid item: 4, about 107 ns each
        accumulator peak.0: peak of f32 gives acc0: f32
        accumulator sum.1: sum of f32 gives acc1: f32
        let i = item
        start peak.0
        loop r.segment from 0 to s0 by 512
          let r.end = r.segment + 512 at most s0
          let stop@r = r.end at most 16 * Math.floor(s0 / 16)
          loop r from r.segment to stop@r by 16
            vector r + 0..3 × 4
              t0: f32 = x[s0*i + r]
              update peak.0 with t0 at r
          let middle@r = stop@r + ((r.end + stop@r*-1) div 4)*4
          loop r from stop@r to middle@r by 4
            vector r + 0..3
              t0: f32 = x[s0*i + r]
              update peak.0 with t0 at r
          loop r from middle@r to r.end
            vector r + 0..3, 1 of 4
              t0: f32 = x[s0*i + r]
              update peak.0 with t0 at r
          settle peak.0
        part peak.0
        fold peak.0
        finish peak.0
        start sum.1
        loop r.segment from 0 to s0 by 512
          let r.end = r.segment + 512 at most s0
          let stop@r = r.end at most 16 * Math.floor(s0 / 16)
          loop r from r.segment to stop@r by 16
            vector r + 0..3 × 4
              t0: f32 = x[s0*i + r]
              t1: f32 = t0 - acc0
              t2: f32 = exp(t1)
              update sum.1 with t2 at r
          let middle@r = stop@r + ((r.end + stop@r*-1) div 4)*4
          loop r from stop@r to middle@r by 4
            vector r + 0..3
              t0: f32 = x[s0*i + r]
              t1: f32 = t0 - acc0
              t2: f32 = exp(t1)
              update sum.1 with t2 at r
          loop r from middle@r to r.end
            vector r + 0..3, 1 of 4
              t0: f32 = x[s0*i + r]
              t1: f32 = t0 - acc0
              t2: f32 = exp(t1)
              update sum.1 with t2 at r
          settle sum.1
        part sum.1
        fold sum.1
        finish sum.1
        loop r.segment from 0 to s0 by 512
          let r.end = r.segment + 512 at most s0
          let stop@r = r.end at most 16 * Math.floor(s0 / 16)
          loop r from r.segment to stop@r by 16
            vector r + 0..3 × 4
              t0: f32 = x[s0*i + r]
              t1: f32 = t0 - acc0
              t2: f32 = exp(t1)
              t3: f32 = t2 / acc1
              out[s0*i + r] = t3
          let middle@r = stop@r + ((r.end + stop@r*-1) div 4)*4
          loop r from stop@r to middle@r by 4
            vector r + 0..3
              t0: f32 = x[s0*i + r]
              t1: f32 = t0 - acc0
              t2: f32 = exp(t1)
              t3: f32 = t2 / acc1
              out[s0*i + r] = t3
          loop r from middle@r to r.end
            vector r + 0..3, 1 of 4
              t0: f32 = x[s0*i + r]
              t1: f32 = t0 - acc0
              t2: f32 = exp(t1)
              t3: f32 = t2 / acc1
              out[s0*i + r] = t3"
    `);
  });
});

interface Trial {
  readonly buffers: Buffers;
  readonly scalars?: Readonly<Record<string, number>>;
  /** Values of symbols. */
  readonly sizes?: SizeValue;
}

/** Interprets a kernel and its schedule on the same buffers. */
function compare(kernel: LoopKernel<Size>, { buffers, scalars = {}, sizes }: Trial): void {
  const scheduled = schedule(kernel);
  const [wanted, got] = [structuredClone(buffers), structuredClone(buffers)];
  const at = sizes === undefined ? (kernel as LoopKernel) : kernelAt(kernel, sizes);
  interpretKernel(at, wanted, scalars);
  interpretScheduled(scheduled, { buffers: got, scalars, ...(sizes !== undefined && { sizes }) });
  for (const [name, data] of Object.entries(wanted))
    for (const [i, value] of data.entries()) {
      const found = got[name]![i]!;
      const error = Object.is(found, value) ? 0 : Math.abs(found - value) / (1 + Math.abs(value));
      if (found !== value && !(error < 2e-4))
        expect.fail(
          `${name}[${i}] is ${found}, expected ${value}\n${printKernel(kernel)}\n${printScheduled(scheduled)}`,
        );
    }
}

function wave(count: number, seed = 1): number[] {
  return Array.from({ length: count }, (_, i) => Math.sin(seed * i) * 2);
}

const zeros = (count: number): number[] => Array<number>(count).fill(0);

describe('schedules for vectors compute what kernels say', () => {
  it('pointwise, of any length', () => {
    for (const n of [0, 1, 3, 4, 15, 16, 37, 5003])
      compare(pointwise(n), { buffers: { x: wave(n), out: zeros(n) } });
    compare(transpose(40, 37), { buffers: { x: wave(40 * 37), out: zeros(40 * 37) } });
    const n = 64 * 4;
    compare(digits(64), { buffers: { x: wave(n), row: wave(4, 2), out: zeros(n) } });
    const place = Array.from({ length: 50 }, (_, i) => (7 * i) % 20);
    compare(scatter(50), { buffers: { x: wave(50), place, out: zeros(20) } });
  });

  it('reductions along rows and columns', () => {
    const ops: readonly ReduceOp[] = ['sum', 'prod', 'max', 'argmax', 'mean', 'peak'];
    for (const op of ops)
      for (const along of ['rows', 'columns'] as const)
        for (const [outer, inner] of [
          [3, 5],
          [5, 300],
          [33, 1100],
          [700, 100],
        ] as const)
          compare(reduce(op, along, outer, inner), {
            buffers: { x: wave(outer * inner), out: zeros(outer) },
          });
  });

  it('rows that are kept, and scans', () => {
    for (const columns of [1, 7, 96, 200]) {
      const buffers = { x: wave(5 * columns), out: zeros(5 * columns) };
      compare(softmax(5, columns), { buffers });
      compare(scan(5, columns), { buffers });
    }
  });

  it('at all sizes', () => {
    const [n] = symbols(1, 64) as [SymInt];
    for (const size of [2, 3, 4, 17, 64, 130]) {
      const sizes: SizeValue = (each) => compileSize(each, () => 0)([size]);
      compare(pointwise(n), { buffers: { x: wave(size), out: zeros(size) }, sizes });
      const rows = { x: wave(3 * size), out: zeros(3 * size) };
      compare(softmax(3, n), { buffers: rows, sizes });
      compare(reduce('sum', 'rows', 3, n), { buffers: { ...rows, out: zeros(3) }, sizes });
      compare(reduce('max', 'columns', n, 3), { buffers: { ...rows, out: zeros(size) }, sizes });
      const blocks = { x: wave(2000 * size), out: zeros(size) };
      compare(reduce('sum', 'columns', n, 2000), { buffers: blocks, sizes });
      const turned = { x: wave(41 * size), out: zeros(41) };
      compare(reduce('argmax', 'columns', 41, n), { buffers: turned, sizes });
    }
  });

  for (let start = 1; start <= 200; start += 50)
    it(`random kernels, seeds ${start} to ${start + 49}`, () => {
      for (let seed = start; seed < start + 50; seed++) {
        const { kernel, buffers, scalars } = randomKernel(seed);
        compare(kernel, { buffers, scalars });
      }
    });
});

describe('verifyScheduled', () => {
  const scheduled = schedule(softmax(8, 100));

  /** The body without statements of some kind. */
  function without(kind: string, body: ScheduledBody = scheduled.body): ScheduledBody {
    return body
      .filter((stmt) => stmt.kind !== kind)
      .map((stmt) => ('body' in stmt ? { ...stmt, body: without(kind, stmt.body) } : stmt));
  }

  it('refuses a row that is recalled where nothing was kept', () => {
    expect(() => verifyScheduled({ ...scheduled, body: without('keep') })).toThrow(
      /'row.0' is recalled where nothing was kept/,
    );
  });

  it('refuses a row that has no memory', () => {
    expect(() => verifyScheduled({ ...scheduled, scratch: [] })).toThrow(
      /there is no scratch array 'row.0'/,
    );
  });
});
