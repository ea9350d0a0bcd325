/**
 * The schedules of loop kernels for threads: as text, verified, and interpreted beside the kernels they are made from.
 */
import {
  IrBuilder,
  type BufferData,
  interpretKernel,
  interpretScheduled,
  type LoopKernel,
  printScheduled,
  type ReduceOp,
  scheduleReduction,
  scheduleThreads,
  type ReductionThreads,
  type ScheduledKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import { ShapeEnv, type Size, sizeHint } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { scheduleTarget } from '../src/codegen/target.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import {
  layerNorm,
  reduceMatrix,
  rowTimesBytes,
  scaledRows,
  siluAdd,
  softmax,
  spatialSum,
  transposedGelu,
  wave,
  zeros,
} from './support/sample-kernels.js';

const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  subgroups: { min: 32, max: 32 },
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};
const TARGETS: Readonly<Record<string, WgslTarget>> = {
  baseline: BASELINE_TARGET,
  card: CARD,
  'subgroups of any size': { ...CARD, subgroups: { min: 8, max: 32 } },
  software: { ...BASELINE_TARGET, software: true, parallelism: 4 },
  'short grids': { ...BASELINE_TARGET, maxWorkgroupsPerDimension: 3 },
};

type Buffers = Record<string, number[] | Float32Array>;

/** Copies of buffers that the interpreter may write. */
function copied(buffers: Buffers): Record<string, BufferData> {
  return Object.fromEntries(
    Object.entries(buffers).map(([name, data]) => [name, Array.from(data, Number)]),
  );
}

/** Interprets a kernel and its schedule on the same buffers. */
function compare(
  kernel: LoopKernel,
  scheduled: ScheduledKernel,
  buffers: Buffers,
  { subgroups }: WgslTarget = CARD,
): void {
  verifyScheduled(scheduled);
  const wanted = copied(buffers);
  interpretKernel(kernel, wanted);
  const { min, max } = subgroups ?? { min: 1, max: 1 };
  for (const subgroupSize of new Set([min, max])) {
    const got = copied(buffers);
    interpretScheduled(scheduled, { buffers: got, subgroupSize });
    for (const [name, data] of Object.entries(wanted))
      for (const [i, value] of Array.from(data, Number).entries()) {
        const found = Number(got[name]![i]);
        const error = Object.is(found, value) ? 0 : Math.abs(found - value) / (1 + Math.abs(value));
        if (!(error < 1e-5)) expect({ name, i, found }).toEqual({ name, i, found: value });
      }
  }
}

describe('schedules for threads', () => {
  const print = (kernel: LoopKernel, target: WgslTarget = CARD): string =>
    printScheduled(scheduleThreads(kernel, scheduleTarget(target)));

  it('of a pointwise kernel: vectors, of which the last may be cut', () => {
    expect(print(siluAdd(1003))).toMatchInlineSnapshot(`
      "scheduled silu_add
        grid group: 1
        threads lane: 256
        let point = group*256 + lane
        exit unless point < 251
        let i0 = point*4
        vector i0 + 0..3, where i0 < 1003
          t0: f32 = x[i0]
          t1: f32 = sigmoid(t0)
          t2: f32 = t0 * t1
          t3: f32 = y[i0]
          t4: f32 = t2 + t3
          out[i0] = t4"
    `);
  });

  it('of rows whose results meet other values: these are asked for before the row is read', () => {
    const lines = print(rowTimesBytes(64, 256))
      .split('\n')
      .map((line) => line.trim());
    expect(lines.filter((line) => /^(let column|ask|start|when|out)/.test(line)))
      .toMatchInlineSnapshot(`
        [
          "let column = part mod 2",
          "ask for scales[2*n0 + column]",
          "start sum.0, sum.1",
          "when part div 2 is 0",
          "out[2*n0 + column] = t4",
        ]
      `);
  });

  it('of rows that begin anywhere: threads take turns, each with four points of a row', () => {
    const [rows, columns, pitch] = [2050, 515, 517];
    const kernel = scaledRows(rows, columns, pitch);
    expect(print(kernel)).toMatchInlineSnapshot(`
      "scheduled scaled_rows
        grid group: 1282
        threads lane: 256
        let point = group*256 + lane
        exit unless point < 328000
        let unit = point mod 160
        let i1 = (unit div 32)*128 + unit mod 32
        let i0 = point div 160
        vector i1 + 0..3 by 32, where i1 < 515
          t0: f32 = x[517*i0 + i1]
          t1: f32 = scale[i0]
          t2: f32 = t0 * t1
          out[515*i0 + i1] = t2"
    `);
    const data = { x: wave(rows * pitch), scale: wave(rows, 3), out: zeros(rows * columns) };
    // Of rows whose length is a symbol, the bounds are expressions.
    const length = new ShapeEnv().createSymbol(columns, {
      source: 'x',
      min: 2,
    });
    const symbolic = scaledRows<Size>(rows, length, pitch);
    const scheduled = scheduleThreads(symbolic, scheduleTarget(CARD));
    expect(printScheduled(scheduled)).toContain('by 32, where i1 < s0');
    const found = copied(data);
    interpretScheduled(scheduled, { buffers: found, subgroupSize: 32, sizes: sizeHint });
    const wanted = copied(data);
    interpretKernel(kernel, wanted);
    expect(found['out']!.findIndex((value, i) => value !== wanted['out']![i])).toBe(-1);
    // Too few points to keep memory busy, and short rows, have a thread each.
    for (const small of [scaledRows(20, 515, 517), scaledRows(2 ** 18, 7, 7)])
      expect(print(small)).not.toContain('vector');
  });

  it('of a transpose: patches', () => {
    expect(print(transposedGelu(64, 48))).toMatchInlineSnapshot(`
      "scheduled transposed_gelu
        grid group: 4
        threads lane: 256
        let patch_along = group mod 2
        let patch_across = (group div 2) mod 2
        let i0 = patch_across*32 + lane mod 8 + ((lane div 32) mod 4)*8
        let i1 = (patch_along*8 + (lane div 8) mod 4 + (lane div 128)*4)*4
        exit unless i0 < 64 and i1 < 48
        vector i1 + 0..3
          t0: f32 = x[64*i1 + i0]
          t1: f32 = bias[i1]
          t2: f32 = t0 + t1
          t3: f32 = t2 * 0.5
          t4: f32 = t2 * 0.7071067690849304
          t5: f32 = erf(t4)
          t6: f32 = t5 + 1
          t7: f32 = t3 * t6
          out[48*i0 + i1] = t7"
    `);
  });

  it('of rows: threads share a row and exchange what they have', () => {
    expect(print(reduceMatrix('sum', 'rows', 64, 4096))).toMatchInlineSnapshot(`
      "scheduled sum_rows
        grid group: 64
        threads lane: 1024
        shared shared_.0: f32[32]
        accumulator sum.0: sum of f32 gives acc0: f32
        let point = group
        let part = lane
        let i0 = point
        let r.0 = part
        let r0@0 = r.0*4
        start sum.0
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[4096*i0 + r0]
            update sum.0 with t0 at r0
        part sum.0
        fold sum.0
        exchange sum.0 among 32
        when lane mod 32 is 0
          share sum.0 shared_.0[lane div 32]
        barrier
        let first.0 = (lane + part*-1) div 32
        fetch sum.0 shared_.0[first.0 + lane mod 32]
        exchange sum.0 among 32
        finish sum.0
        when part is 0
          out0[i0] = acc0"
    `);
  });

  it('of columns: each lane has results of its own', () => {
    expect(print(reduceMatrix('max', 'columns', 4096, 64))).toMatchInlineSnapshot(`
      "scheduled max_columns
        grid group: 4
        threads lane: 1024
        shared shared_.0: f32[1024]
        accumulator max.0: max of f32 gives acc0: f32
        let point = group*4 + lane mod 4
        let part = lane div 4
        let i0 = point*4
        vector i0 + 0..3
          let r.0 = part
          let r0@0 = r.0
          let r.1 = part + 256
          let r0@1 = r.1
          let r.2 = part + 512
          let r0@2 = r.2
          let r.3 = part + 768
          let r0@3 = r.3
          let r.4 = part + 1024
          let r0@4 = r.4
          let r.5 = part + 1280
          let r0@5 = r.5
          let r.6 = part + 1536
          let r0@6 = r.6
          let r.7 = part + 1792
          let r0@7 = r.7
          let r.8 = part + 2048
          let r0@8 = r.8
          let r.9 = part + 2304
          let r0@9 = r.9
          let r.10 = part + 2560
          let r0@10 = r.10
          let r.11 = part + 2816
          let r0@11 = r.11
          let r.12 = part + 3072
          let r0@12 = r.12
          let r.13 = part + 3328
          let r0@13 = r.13
          let r.14 = part + 3584
          let r0@14 = r.14
          let r.15 = part + 3840
          let r0@15 = r.15
          start max.0
          point 0
            let r0 = r0@0
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 1
            let r0 = r0@1
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 2
            let r0 = r0@2
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 3
            let r0 = r0@3
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 4
            let r0 = r0@4
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 5
            let r0 = r0@5
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 6
            let r0 = r0@6
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 7
            let r0 = r0@7
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 8
            let r0 = r0@8
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 9
            let r0 = r0@9
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 10
            let r0 = r0@10
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 11
            let r0 = r0@11
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 12
            let r0 = r0@12
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 13
            let r0 = r0@13
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 14
            let r0 = r0@14
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          point 15
            let r0 = r0@15
            t1: f32 = x[64*r0 + i0]
            update max.0 with t1 at r0
          part max.0
          share max.0 shared_.0[lane]
          barrier
          loop half.0 from 128 by halves
            when part < half.0
              merge max.0 shared_.0[lane + half.0*4]
              share max.0 shared_.0[lane]
            barrier
          fetch max.0 shared_.0[lane + part*-4]
          finish max.0
          when part is 0
            out0[i0] = acc0"
    `);
  });

  it('of softmax: a row stays in registers', () => {
    expect(print(softmax(8, 1024))).toMatchInlineSnapshot(`
      "scheduled softmax
        grid group: 8
        threads lane: 256
        shared shared_.0: f32[8]
        accumulator peak.0: peak of f32 gives acc0: f32
        accumulator sum.1: sum of f32 gives acc1: f32
        let point = group
        let part = lane
        let i0 = point
        let r.0 = part
        let r0@0 = r.0*4
        start peak.0
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[1024*i0 + r0]
            update peak.0 with t0 at r0
        part peak.0
        fold peak.0
        exchange peak.0 among 32
        when lane mod 32 is 0
          share peak.0 shared_.0[lane div 32]
        barrier
        let first.0 = (lane + part*-1) div 32
        fetch peak.0 shared_.0[first.0 + lane mod 8]
        exchange peak.0 among 8
        finish peak.0
        start sum.1
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[1024*i0 + r0]
            t1: f32 = t0 - acc0
            t2: f32 = exp(t1)
            update sum.1 with t2 at r0
        part sum.1
        fold sum.1
        exchange sum.1 among 32
        barrier
        when lane mod 32 is 0
          share sum.1 shared_.0[lane div 32]
        barrier
        let first.1 = (lane + part*-1) div 32
        fetch sum.1 shared_.0[first.1 + lane mod 8]
        exchange sum.1 among 8
        finish sum.1
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[1024*i0 + r0]
            t1: f32 = t0 - acc0
            t2: f32 = exp(t1)
            t3: f32 = t2 / acc1
            out[1024*i0 + r0] = t3"
    `);
  });

  it('of a row that no vector fits: lanes lie apart', () => {
    expect(print(reduceMatrix('sum', 'rows', 4, 50257))).toMatchInlineSnapshot(`
      "scheduled sum_rows
        grid group: 4
        threads lane: 1024
        shared shared_.0: f32[32]
        accumulator sum.0: sum of f32 gives acc0: f32
        let point = group
        let part = lane
        let i0 = point
        start sum.0
        loop r.0 from part to 49152 by 4096
          let r0 = r.0
          vector r0 + 0..3 by 1024
            t0: f32 = x[50257*i0 + r0]
            update sum.0 with t0 at r0
        let r.1 = 49152 + part
        let r0 = r.1
        vector r0 + 0..3 by 1024, where r0 < 50257
          t0: f32 = x[50257*i0 + r0]
          update sum.0 with t0 at r0
        part sum.0
        fold sum.0
        exchange sum.0 among 32
        when lane mod 32 is 0
          share sum.0 shared_.0[lane div 32]
        barrier
        let first.1 = (lane + part*-1) div 32
        fetch sum.0 shared_.0[first.1 + lane mod 32]
        exchange sum.0 among 32
        finish sum.0
        when part is 0
          out0[i0] = acc0"
    `);
  });

  it('of sizes that are symbols: bounds are expressions', () => {
    const rows = new ShapeEnv().createSymbol(24, { source: 'x', min: 2 });
    const scheduled = scheduleThreads(softmax<Size>(rows, 2048), scheduleTarget(CARD));
    expect(printScheduled(scheduled)).toMatchInlineSnapshot(`
      "scheduled softmax
        grid group: s0 or more
        threads lane: 512
        shared shared_.0: f32[16]
        accumulator peak.0: peak of f32 gives acc0: f32
        accumulator sum.1: sum of f32 gives acc1: f32
        exit unless group < s0
        let point = group
        let part = lane
        let i0 = point
        let r.0 = part
        let r0@0 = r.0*4
        start peak.0
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[2048*i0 + r0]
            update peak.0 with t0 at r0
        part peak.0
        fold peak.0
        exchange peak.0 among 32
        when lane mod 32 is 0
          share peak.0 shared_.0[lane div 32]
        barrier
        let first.0 = (lane + part*-1) div 32
        fetch peak.0 shared_.0[first.0 + lane mod 16]
        exchange peak.0 among 16
        finish peak.0
        start sum.1
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[2048*i0 + r0]
            t1: f32 = t0 - acc0
            t2: f32 = exp(t1)
            update sum.1 with t2 at r0
        part sum.1
        fold sum.1
        exchange sum.1 among 32
        barrier
        when lane mod 32 is 0
          share sum.1 shared_.0[lane div 32]
        barrier
        let first.1 = (lane + part*-1) div 32
        fetch sum.1 shared_.0[first.1 + lane mod 16]
        exchange sum.1 among 16
        finish sum.1
        point 0
          let r0 = r0@0
          vector r0 + 0..3
            t0: f32 = x[2048*i0 + r0]
            t1: f32 = t0 - acc0
            t2: f32 = exp(t1)
            t3: f32 = t2 / acc1
            out[2048*i0 + r0] = t3"
    `);
  });

  it('of stores that combine: each point adds once, also where threads hold vectors and the last is cut', () => {
    const b = new IrBuilder();
    const i = b.sym('i0', 1003);
    const kernel: LoopKernel = {
      kind: 'loop',
      name: 'sums_by_remainder',
      params: [
        { name: 'x', dtype: 'float32', access: 'read' },
        { name: 'out', dtype: 'float32', access: 'write' },
      ],
      scalars: [],
      outer: [{ name: 'i0', size: 1003 }],
      inner: [],
      stages: [
        {
          kind: 'outer',
          body: [
            {
              kind: 'store',
              buf: 'out',
              index: b.mod(i, 7),
              value: b.load('float32', 'x', i),
              combine: 'sum',
            },
          ],
        },
      ],
    };
    expect(print(kernel)).toMatch(/out\[.*\] \+= t0/);
    for (const target of Object.values(TARGETS))
      compare(
        kernel,
        scheduleThreads(kernel, scheduleTarget(target)),
        { x: wave(1003), out: wave(7) },
        target,
      );
  });

  for (const [name, target] of Object.entries(TARGETS)) {
    const schedule = (kernel: LoopKernel): ScheduledKernel =>
      scheduleThreads(kernel, scheduleTarget(target));

    it(`compute what the kernels say: pointwise, ${name}`, () => {
      for (const n of [0, 1, 3, 4, 255, 1027]) {
        const kernel = siluAdd(n);
        compare(kernel, schedule(kernel), { x: wave(n), y: wave(n, 3), out: zeros(n) }, target);
      }
      for (const [rows, columns] of [
        [5, 7],
        [40, 48],
      ] as const) {
        const kernel = transposedGelu(rows, columns);
        const n = rows * columns;
        const data = { x: wave(n), bias: wave(columns, 3), out: zeros(n) };
        compare(kernel, schedule(kernel), data, target);
      }
    });

    it(`compute what the kernels say: reductions, ${name}`, () => {
      const ops: readonly ReduceOp[] = ['sum', 'max', 'any', 'argmax', 'welford', 'online_softmax'];
      for (const op of ops)
        for (const along of ['rows', 'columns'] as const)
          for (const [outer, inner] of [
            [3, 40],
            [36, 130],
          ] as const) {
            const [rows, columns] = along === 'rows' ? [outer, inner] : [inner, outer];
            const kernel = reduceMatrix(op, along, rows, columns);
            const results = kernel.params.filter(({ access }) => access === 'write');
            const data: Buffers = { x: wave(rows * columns) };
            for (const param of results) data[param.name] = zeros(outer);
            compare(kernel, schedule(kernel), data, target);
          }
      const spatial = spatialSum(2, 5, 6, 8);
      compare(spatial, schedule(spatial), { x: wave(2 * 5 * 6 * 8), out: zeros(2 * 8) }, target);
      for (const columns of [7, 96]) {
        const kernel = softmax(5, columns);
        compare(
          kernel,
          schedule(kernel),
          { x: wave(5 * columns), out: zeros(5 * columns) },
          target,
        );
      }
    });
  }

  it('compute the same however threads share the loops', () => {
    const kernel = layerNorm(6, 96);
    const data: Buffers = {
      x: wave(6 * 96),
      weight: wave(96, 3),
      bias: wave(96, 5),
      mean: zeros(6),
      rstd: zeros(6),
      out: zeros(6 * 96),
    };
    for (const fast of ['inner', 'outer'] as const)
      for (const lanes of ['inner', 'none', 'strided'] as const)
        for (const [outerThreads, innerThreads, steps] of [
          [1, 1, 0],
          [1, 32, 0],
          [4, 8, 0],
          [4, 8, 12],
          [2, 64, 2],
        ] as const) {
          if (lanes === 'strided' && steps > 0) continue;
          const threads: ReductionThreads = { fast, lanes, outerThreads, innerThreads, steps };
          const scheduled = scheduleReduction(kernel, scheduleTarget(CARD), threads);
          compare(kernel, scheduled, data);
        }
  });
});

describe('verifyScheduled', () => {
  const scheduled = scheduleThreads(reduceMatrix('sum', 'rows', 64, 4096), scheduleTarget(CARD));
  const broken =
    (change: (body: ScheduledKernel['body']) => ScheduledKernel['body']): (() => void) =>
    () =>
      verifyScheduled({ ...scheduled, body: change(scheduled.body) });

  it('accepts what is whole', () => {
    expect(broken((body) => body)).not.toThrow();
  });

  it('refuses a variable that nobody defined', () => {
    expect(
      broken((body) => body.filter((stmt) => stmt.kind !== 'let' || stmt.name !== 'part')),
    ).toThrow(/variable 'part' is used where it is not known/);
  });

  it('refuses a result that is read before it is known', () => {
    expect(broken((body) => body.filter(({ kind }) => kind !== 'finish'))).toThrow(
      /result 0 is read before it is known/,
    );
  });

  it('refuses parts that were not handed over', () => {
    expect(broken((body) => body.filter(({ kind }) => kind !== 'part'))).toThrow(
      /'fold sum.0' where it is started/,
    );
  });

  it('refuses a barrier that some threads do not reach', () => {
    const lane = { kind: 'sym', name: 'lane' } as const;
    expect(
      broken((body) => [
        ...body,
        { kind: 'when', all: [{ kind: 'first', index: lane }], body: [{ kind: 'barrier' }] },
      ]),
    ).toThrow(/not all threads may reach a barrier/);
  });

  it('refuses a kernel that stores nothing', () => {
    expect(
      broken((body) => body.filter(({ kind }) => kind !== 'when' && kind !== 'store')),
    ).toThrow(/nothing is stored/);
  });
});

describe('interpretScheduled', () => {
  it('finds a barrier that is missing', () => {
    const kernel = reduceMatrix('sum', 'rows', 2, 256);
    const threads: ReductionThreads = {
      fast: 'inner',
      lanes: 'inner',
      outerThreads: 1,
      innerThreads: 16,
      steps: 0,
    };
    const scheduled = scheduleReduction(kernel, scheduleTarget(BASELINE_TARGET), threads);
    const body = scheduled.body.filter(({ kind }) => kind !== 'barrier');
    const buffers = { x: wave(512), out: zeros(2) };
    expect(() => interpretScheduled({ ...scheduled, body }, { buffers: copied(buffers) })).toThrow(
      /which nobody wrote/,
    );
  });
});
