/**
 * The schedules of products for threads: as text, verified, and interpreted beside the kernels they are made from.
 */
import {
  type BufferData,
  interpretKernel,
  interpretScheduled,
  loadOrder,
  type MatmulKernel,
  type MatmulTile,
  printScheduled,
  type ProductChoices,
  ResultShare,
  type ScheduledKernel,
  type ScheduledStmt,
  scheduleProduct,
  splitProduct,
  variable,
  verifyScheduled,
  whole,
} from '@tessera/inductor-core';
import { ShapeEnv } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { scheduleTarget } from '../src/codegen/target.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import {
  convolutionKernel,
  matmulData,
  matmulKernel,
  matmulOfRows,
  type MatmulSpec,
} from './support/matmul-kernel.js';

const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};
const SOFTWARE: WgslTarget = { ...BASELINE_TARGET, software: true, parallelism: 4 };

/** A small tile for each way in which slabs are loaded and results are shared. */
const SMALL: MatmulTile = { bm: 16, bn: 16, bk: 16, tm: 4, tn: 4, slices: 1 };
const SLICED: MatmulTile = { bm: 16, bn: 16, bk: 32, tm: 4, tn: 4, slices: 16 };
/** Each half of the threads loads a slab in blocks. */
const BLOCKS: MatmulTile = { bm: 16, bn: 16, bk: 16, tm: 8, tn: 8, slices: 8 };

type Buffers = Readonly<Record<string, readonly number[]>>;

/** Interprets a kernel and its schedule on the same buffers. */
function compare(
  kernel: MatmulKernel,
  buffers: Buffers,
  choices: ProductChoices = {},
  target = CARD,
): void {
  const scheduled = scheduleProduct(kernel, scheduleTarget(target), choices);
  verifyScheduled(scheduled);
  const copied = (): Record<string, BufferData> =>
    Object.fromEntries(Object.entries(buffers).map(([name, data]) => [name, [...data]]));
  const [wanted, got] = [copied(), copied()];
  interpretKernel(kernel, wanted);
  interpretScheduled(scheduled, { buffers: got });
  for (const { name } of kernel.params.filter(({ access }) => access !== 'read'))
    for (const [i, value] of Array.from(wanted[name]!, Number).entries()) {
      const error = Math.abs(Number(got[name]![i]) - value) / (1 + Math.abs(value));
      if (!(error < 1e-5))
        expect({ name, i, found: got[name]![i] }).toEqual({ name, i, found: value });
    }
}

describe('schedules of products for threads', () => {
  it('of rows whose number is a symbol: slabs, registers, and routines that load and store', () => {
    const rows = new ShapeEnv().createSymbol(24, { source: 'x', min: 2 });
    const kernel = matmulOfRows(rows, { n: 12, k: 20 });
    const scheduled = scheduleProduct(kernel, scheduleTarget(CARD), {
      tile: SMALL,
      unrolled: false,
    });
    expect(printScheduled(scheduled)).toMatchInlineSnapshot(`
      "scheduled matmul
        grid group: -Math.floor((-s0) / 16) or more
        threads lane: 16
        shared slab_a.: f32[16, 20]
        shared slab_b.: f32 × 4[16, 5]
        routine load_a(batch, along, depth): f32
          let m0 = along
          let k0 = depth
          vector k0 + 0..3
            t0: f32 = a[20*m0 + k0]
            give t0 where depth < 20, or 0
        routine load_b(batch, along, depth): f32
          let n0 = along
          let k0 = depth
          vector n0 + 0..3
            t0: f32 = b[12*k0 + n0]
            give t0 where depth < 20, or 0
        routine store_c(batch, down, along, product)
          exit unless down < s0 and along < 12
          let m0 = down
          let n0 = along
          vector n0 + 0..3
            out[12*m0 + n0] = acc0
        exit unless group < -Math.floor((-s0) / 16)
        let tile = group
        let batch = tile div (-Math.floor((-s0) / 16))
        let first_m = (tile mod (-Math.floor((-s0) / 16)))*16
        let first_n = 0
        let column = lane mod 4
        let row = lane div 4
        clear c0_0, c1_0, c2_0, c3_0
        clear next_a0, next_a1, next_a2, next_a3, next_b0, next_b1, next_b2, next_b3
        next_a0 = load_a(batch, first_m + lane div 4, (lane mod 4)*4)
        next_a1 = load_a(batch, first_m + (lane + 16) div 4, ((lane + 16) mod 4)*4)
        next_a2 = load_a(batch, first_m + (lane + 32) div 4, ((lane + 32) mod 4)*4)
        next_a3 = load_a(batch, first_m + (lane + 48) div 4, ((lane + 48) mod 4)*4)
        next_b0 = load_b(batch, first_n + (lane mod 4)*4, lane div 4)
        next_b1 = load_b(batch, first_n + ((lane + 16) mod 4)*4, (lane + 16) div 4)
        next_b2 = load_b(batch, first_n + ((lane + 32) mod 4)*4, (lane + 32) div 4)
        next_b3 = load_b(batch, first_n + ((lane + 48) mod 4)*4, (lane + 48) div 4)
        loop step from 0 to 2
          slab_a.[(lane mod 4)*4, lane div 4] = next_a0.0
          slab_a.[(lane mod 4)*4 + 1, lane div 4] = next_a0.1
          slab_a.[(lane mod 4)*4 + 2, lane div 4] = next_a0.2
          slab_a.[(lane mod 4)*4 + 3, lane div 4] = next_a0.3
          slab_a.[((lane + 16) mod 4)*4, (lane + 16) div 4] = next_a1.0
          slab_a.[((lane + 16) mod 4)*4 + 1, (lane + 16) div 4] = next_a1.1
          slab_a.[((lane + 16) mod 4)*4 + 2, (lane + 16) div 4] = next_a1.2
          slab_a.[((lane + 16) mod 4)*4 + 3, (lane + 16) div 4] = next_a1.3
          slab_a.[((lane + 32) mod 4)*4, (lane + 32) div 4] = next_a2.0
          slab_a.[((lane + 32) mod 4)*4 + 1, (lane + 32) div 4] = next_a2.1
          slab_a.[((lane + 32) mod 4)*4 + 2, (lane + 32) div 4] = next_a2.2
          slab_a.[((lane + 32) mod 4)*4 + 3, (lane + 32) div 4] = next_a2.3
          slab_a.[((lane + 48) mod 4)*4, (lane + 48) div 4] = next_a3.0
          slab_a.[((lane + 48) mod 4)*4 + 1, (lane + 48) div 4] = next_a3.1
          slab_a.[((lane + 48) mod 4)*4 + 2, (lane + 48) div 4] = next_a3.2
          slab_a.[((lane + 48) mod 4)*4 + 3, (lane + 48) div 4] = next_a3.3
          slab_b.[lane div 4, lane mod 4] = next_b0
          slab_b.[(lane + 16) div 4, (lane + 16) mod 4] = next_b1
          slab_b.[(lane + 32) div 4, (lane + 32) mod 4] = next_b2
          slab_b.[(lane + 48) div 4, (lane + 48) mod 4] = next_b3
          barrier
          when step + 1 < 2
            next_a0 = load_a(batch, first_m + lane div 4, (step + 1)*16 + (lane mod 4)*4)
            next_a1 = load_a(batch, first_m + (lane + 16) div 4, (step + 1)*16 + ((lane + 16) mod 4)*4)
            next_a2 = load_a(batch, first_m + (lane + 32) div 4, (step + 1)*16 + ((lane + 32) mod 4)*4)
            next_a3 = load_a(batch, first_m + (lane + 48) div 4, (step + 1)*16 + ((lane + 48) mod 4)*4)
            next_b0 = load_b(batch, first_n + (lane mod 4)*4, (step + 1)*16 + lane div 4)
            next_b1 = load_b(batch, first_n + ((lane + 16) mod 4)*4, (step + 1)*16 + (lane + 16) div 4)
            next_b2 = load_b(batch, first_n + ((lane + 32) mod 4)*4, (step + 1)*16 + (lane + 32) div 4)
            next_b3 = load_b(batch, first_n + ((lane + 48) mod 4)*4, (step + 1)*16 + (lane + 48) div 4)
          loop kk from 0 to 16
            a0 = (slab_a.[kk, row*4], slab_a.[kk, row*4 + 1], slab_a.[kk, row*4 + 2], slab_a.[kk, row*4 + 3])
            b0 = slab_b.[kk, column]
            c0_0..c3_0 += (a0) × (b0)
          barrier
        store_c(batch, first_m + row*4, first_n + column*4, c0_0)
        store_c(batch, first_m + row*4 + 1, first_n + column*4, c1_0)
        store_c(batch, first_m + row*4 + 2, first_n + column*4, c2_0)
        store_c(batch, first_m + row*4 + 3, first_n + column*4, c3_0)"
    `);
  });

  it('of a product whose threads share sums: steps are unrolled', () => {
    const kernel = matmulKernel({ m: 16, n: 16, k: 32, transposeB: true });
    const scheduled = scheduleProduct(kernel, scheduleTarget(CARD), {
      tile: SLICED,
      unrolled: true,
    });
    const text = printScheduled(scheduled);
    expect(text.slice(text.indexOf('  let tile'))).toMatchInlineSnapshot(`
      "  let tile = group
        let batch = tile
        let first_m = (tile mod 1)*16
        let first_n = 0
        let slice = lane div 16
        let column = (lane mod 16) mod 4
        let row = (lane mod 16) div 4
        clear c0_0, c1_0, c2_0, c3_0
        clear next_a0, next_b0
        when lane < 128
          next_a0 = load_a(batch, first_m + lane div 8, (lane mod 8)*4)
        when lane < 128
          next_b0 = load_b(batch, first_n + lane div 8, (lane mod 8)*4)
        loop step from 0 to 1
          when lane < 128
            slab_a.[(lane mod 8)*4, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_a0.0
            slab_a.[(lane mod 8)*4 + 1, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_a0.1
            slab_a.[(lane mod 8)*4 + 2, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_a0.2
            slab_a.[(lane mod 8)*4 + 3, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_a0.3
          when lane < 128
            slab_b.[(lane mod 8)*4, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_b0.0
            slab_b.[(lane mod 8)*4 + 1, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_b0.1
            slab_b.[(lane mod 8)*4 + 2, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_b0.2
            slab_b.[(lane mod 8)*4 + 3, lane div 8 + ((lane mod 8)*4 div 8)*4] = next_b0.3
          barrier
          loop kk from 0 to 32 by 16, unrolled
            a0 = (slab_a.[slice + kk, (row + slice div 8 + kk div 8)*4], slab_a.[slice + kk, (row + slice div 8 + kk div 8)*4 + 1], slab_a.[slice + kk, (row + slice div 8 + kk div 8)*4 + 2], slab_a.[slice + kk, (row + slice div 8 + kk div 8)*4 + 3])
            b0 = (slab_b.[slice + kk, (column + slice div 8 + kk div 8)*4], slab_b.[slice + kk, (column + slice div 8 + kk div 8)*4 + 1], slab_b.[slice + kk, (column + slice div 8 + kk div 8)*4 + 2], slab_b.[slice + kk, (column + slice div 8 + kk div 8)*4 + 3])
            c0_0..c3_0 += (a0) × (b0)
          barrier
        loop half from 8 by halves
          when half < slice + 1 and slice < half*2
            sums.[(lane + half*-16)*4] = c0_0
            sums.[(lane + half*-16)*4 + 1] = c1_0
            sums.[(lane + half*-16)*4 + 2] = c2_0
            sums.[(lane + half*-16)*4 + 3] = c3_0
          barrier
          when slice < half
            c0_0 += sums.[lane*4]
            c1_0 += sums.[lane*4 + 1]
            c2_0 += sums.[lane*4 + 2]
            c3_0 += sums.[lane*4 + 3]
          barrier
        when slice is 0
          store_c(batch, first_m + row*4, first_n + column*4, c0_0)
          store_c(batch, first_m + row*4 + 1, first_n + column*4, c1_0)
          store_c(batch, first_m + row*4 + 2, first_n + column*4, c2_0)
          store_c(batch, first_m + row*4 + 3, first_n + column*4, c3_0)"
    `);
  });

  const shapes: readonly MatmulSpec[] = [
    { m: 3, n: 5, k: 7 },
    { m: 16, n: 16, k: 16 },
    { m: 17, n: 20, k: 33, biasRelu: true },
    { m: 7, n: 12, k: 20, batch: 3, squareA: true },
    { m: 18, n: 10, k: 24, batch: 2, transposeB: true, biasRelu: true },
  ];
  for (const spec of shapes)
    it(`give what the kernel gives: ${JSON.stringify(spec)}`, () => {
      for (const target of [CARD, SOFTWARE])
        compare(matmulKernel(spec), matmulData(spec), {}, target);
      for (const tile of [SMALL, SLICED, BLOCKS])
        for (const unrolled of [false, true])
          compare(matmulKernel(spec), matmulData(spec), { tile, unrolled });
    });

  it('give the same whichever way operands lie', () => {
    for (const transposeA of [false, true])
      for (const transposeB of [false, true])
        for (const size of [12, 19]) {
          const spec = { m: size, n: size + 4, k: size + 1, transposeA, transposeB, squareA: true };
          for (const tile of [SMALL, BLOCKS])
            compare(matmulKernel(spec), matmulData(spec), { tile, unrolled: true });
        }
  });

  for (const dtype of ['float16', 'bfloat16', 'int32'] as const)
    it(`give the same for ${dtype}`, () => {
      const spec: MatmulSpec = { m: 9, n: 8, k: 12, dtype, biasRelu: true };
      const data = matmulData(spec);
      if (dtype === 'int32')
        for (const name of ['a', 'b', 'bias'])
          data[name] = data[name].map((v) => Math.trunc(v * 8));
      compare(matmulKernel(spec), data, { tile: SMALL });
    });

  it('of convolutions, whose operands are masked and whose variables are several', () => {
    for (const sizes of [
      { n: 2, c: 3, h: 8, w: 8, o: 4, stride: 1 },
      { n: 1, c: 2, h: 7, w: 5, o: 6, stride: 2 },
    ]) {
      const kernel = convolutionKernel(sizes);
      const fill = (count: number, step: number): number[] =>
        Array.from({ length: count }, (_, i) => ((i * step) % 13) / 4 - 1.5);
      const results = kernel.m.reduce((count, { size }) => count * size, sizes.o);
      const data = {
        image: fill(sizes.n * sizes.c * sizes.h * sizes.w, 5),
        weight: fill(sizes.o * sizes.c * 9, 7),
        out: new Array<number>(results).fill(0),
      };
      for (const tile of [SMALL, SLICED]) compare(kernel, data, { tile });
    }
  });

  it('of the pieces of a sum', () => {
    // Of 50 steps in two pieces the second has 18.
    for (const [k, pieces] of [
      [48, 4],
      [50, 2],
    ] as const) {
      const spec: MatmulSpec = { m: 6, n: 8, k, transposeA: true, biasRelu: true };
      const { partial, sum, elements } = splitProduct(matmulKernel(spec), pieces);
      const data = matmulData(spec);
      const { a, b } = data;
      compare(partial, { a, b, partial: new Array<number>(elements).fill(0) }, { tile: SMALL });
      // Both kernels give what the whole gives.
      const [wanted, out] = [[...data.out], [...data.out]];
      const sums = new Array<number>(elements).fill(NaN);
      interpretKernel(partial, { a: [...a], b: [...b], partial: sums });
      interpretKernel(sum, { bias: [...data.bias], out, partial: sums });
      interpretKernel(matmulKernel(spec), { ...data, out: wanted });
      for (const [i, value] of out.entries()) expect(value).toBeCloseTo(wanted[i], 4);
    }
  });

  it('load rows of the sum by vectors only where each row begins at a multiple of four', () => {
    const orderOf = (spec: MatmulSpec): readonly string[] => {
      const { a, b, batch, m, n, k } = matmulKernel(spec);
      return [
        loadOrder({ name: 'a', expr: a, batch, x: m, k }),
        loadOrder({ name: 'b', expr: b, batch, x: n, k }),
      ];
    };
    const product: MatmulSpec = { m: 8, n: 12, k: 20 };
    expect(orderOf(product)).toEqual(['vectors along k', 'along x']);
    expect(orderOf({ ...product, k: 21, transposeB: true })).toEqual([
      'threads along k',
      'threads along k',
    ]);
    // A piece has a whole number of slabs, but its rows are those of the whole.
    const { partial } = splitProduct(matmulKernel({ ...product, k: 50 }), 2);
    const { a, batch, m, k } = partial;
    expect(loadOrder({ name: 'a', expr: a, batch, x: m, k })).toBe('threads along k');
  });

  it('of a rest of results that another kernel leaves', () => {
    const spec: MatmulSpec = { m: 20, n: 18, k: 8 };
    const kernel = matmulKernel(spec);
    const data = matmulData(spec);
    const scales = (count: number, left: readonly number[]): number[] =>
      Array.from({ length: count }, (_, i) => (left.includes(i) ? -1 : 1));
    const [first, rest] = (['first', 'rest'] as const).map((of) => {
      const test = (buf: string, name: string) =>
        ({
          kind: 'op',
          op: 'lt',
          dtype: 'bool',
          args: [
            { kind: 'load', dtype: 'float32', buf, index: variable(name) },
            { kind: 'const', dtype: 'float32', value: 0 },
          ],
        }) as const;
      const params = [
        ...kernel.params,
        ...['rows', 'columns'].map((name) => ({ name, dtype: 'float32', access: 'read' }) as const),
      ];
      const share = new ResultShare(of, test('rows', 'm0'), test('columns', 'n0'));
      return { ...kernel, params, share } as MatmulKernel;
    });
    for (const [rows, columns] of [
      [[], []],
      [[3, 17], []],
      [[], [9]],
    ] as const) {
      const out = new Array<number>(20 * 18).fill(0);
      const buffers = { ...data, rows: scales(20, rows), columns: scales(18, columns), out };
      const wanted = { ...buffers, out: [...out] };
      interpretKernel(kernel, { a: [...data.a], b: [...data.b], out: wanted.out });
      const run = (part: MatmulKernel): void => {
        const scheduled = scheduleProduct(part, scheduleTarget(CARD), { tile: SMALL });
        verifyScheduled(scheduled);
        interpretScheduled(scheduled, { buffers });
      };
      run(rest);
      // The group of four of a column is left with it.
      const isRest = (i: number): boolean =>
        rows.includes(Math.floor(i / 18) as never) || columns.some((c) => c >> 2 === (i % 18) >> 2);
      for (const [i, value] of out.entries())
        expect(value).toBeCloseTo(isRest(i) ? wanted.out[i] : 0, 4);
      run(first);
      for (const [i, value] of out.entries()) expect(value).toBeCloseTo(wanted.out[i], 4);
    }
  });

  it('of no results and of surplus groups', () => {
    compare(matmulKernel({ m: 0, n: 4, k: 4 }), {
      a: [],
      b: new Array<number>(16).fill(1),
      out: [],
    });
    const spec: MatmulSpec = { m: 40, n: 40, k: 4 };
    const short = { ...CARD, maxWorkgroupsPerDimension: 4 };
    compare(matmulKernel(spec), matmulData(spec), { tile: SMALL }, short);
  });
});

describe('verifyScheduled of registers', () => {
  const scheduled = scheduleProduct(matmulKernel({ m: 8, n: 8, k: 8 }), scheduleTarget(CARD), {
    tile: SMALL,
  });
  const broken = (...stmts: readonly ScheduledStmt[]): ScheduledKernel => ({
    ...scheduled,
    body: [...stmts, ...scheduled.body],
  });
  const cases: readonly (readonly [string, RegExp, ScheduledStmt])[] = [
    [
      'registers that were not set',
      /register 'x' is used before it is set/,
      { kind: 'add', to: 'x', value: { kind: 'register', name: 'x' } },
    ],
    [
      'too few values',
      /1 values where 4 are wanted/,
      {
        kind: 'set',
        register: 'x',
        value: { kind: 'read', from: { array: 'slab_a.', row: whole(0), at: whole(0) } },
      },
    ],
    [
      'arrays that are not there',
      /there are no cells 'slab_c\.'/,
      {
        kind: 'mark',
        cell: { array: 'slab_c.', at: whole(0) },
        where: { kind: 'first', index: whole(0) },
      },
    ],
    [
      'routines with other parameters',
      /'load_a' has 3 parameters/,
      { kind: 'set', register: 'x', value: { kind: 'call', routine: 'load_a', at: [whole(0)] } },
    ],
    [
      'unrolled loops of unknown length',
      /its ends are no numbers/,
      {
        kind: 'loop',
        name: 'i',
        begin: whole(0),
        ends: [variable('group')],
        pace: 1,
        unrolled: true,
        body: [],
      },
    ],
    [
      'what nobody takes',
      /nobody takes what is given/,
      { kind: 'give', value: { kind: 'const', dtype: 'float32', value: 0 } },
    ],
  ];
  for (const [name, message, stmt] of cases)
    it(`refuses ${name}`, () => {
      expect(() => verifyScheduled(broken(stmt))).toThrow(message);
    });
});
