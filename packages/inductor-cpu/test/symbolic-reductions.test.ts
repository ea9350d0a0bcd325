/** @file One code for all sizes of reductions and scans, along the lanes and across them, against the interpreter. */
import { IrBuilder, type IndexExpr, type ReduceOp, type Stage } from '@tessera/inductor-core';
import { type Size, sizeAdd, sizeMul } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { describe, it } from 'vitest';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { expectSameAtAllSizes, loop, symbolicLoop, symbols } from './symbolic-kernel.js';

/** Extents of `results` and of one or two reduced loops. */
interface Extents {
  readonly results: Size;
  readonly inner: readonly Size[];
}

const EXTENTS: Readonly<Record<string, (n: Size, m: Size) => Extents>> = {
  'symbolically many results': (n) => ({ results: n, inner: [19] }),
  'symbolically many short results': (n) => ({ results: n, inner: [3] }),
  'a symbolic length': (n) => ({ results: 6, inner: [n] }),
  'a length that fills vectors': (n) => ({ results: 3, inner: [sizeMul(n, 16)] }),
  'a length that is a sum': (n) => ({ results: 3, inner: [sizeAdd(n, 1)] }),
  'two symbolic sizes': (n, m) => ({ results: n, inner: [m] }),
  'a symbolic outer loop': (n) => ({ results: 4, inner: [n, 5] }),
  'a symbolic inner loop': (n) => ({ results: 4, inner: [3, n] }),
  'two symbolic loops': (n, m) => ({ results: 3, inner: [n, m] }),
};

const TYPES: readonly (readonly [ReduceOp, readonly DType[]])[] = [
  ['sum', ['float32', 'float64', 'int64', 'int32']],
  ['prod', ['float32', 'int64']],
  ['max', ['float32', 'float64', 'int64', 'int32']],
  ['min', ['float32', 'int64']],
  ['any', ['bool']],
  ['all', ['bool']],
  ['argmax', ['float32', 'float64', 'int64']],
  ['argmin', ['float32', 'int32']],
  ['welford', ['float32', 'float64']],
  ['online_softmax', ['float32', 'float64']],
];

const SCANS: readonly (readonly [ReduceOp, DType])[] = [
  ['sum', 'float32'],
  ['sum', 'int64'],
  ['prod', 'float64'],
  ['max', 'float32'],
  ['min', 'int32'],
];

/** Where an element lies; rows are three elements apart, so that loops stay what they are. */
function placeOf(ir: IrBuilder, { results, inner }: Extents, along: 'row' | 'column') {
  const i = ir.sym('i', results);
  const last = inner.at(-1)!;
  const pitch = inner.length > 1 ? sizeAdd(last, 3) : last;
  const length = inner.length > 1 ? sizeMul(inner[0]!, pitch) : last;
  const place = inner.reduce<IndexExpr>((sum, size, d) => {
    const stride = d === inner.length - 1 ? 1 : pitch;
    return ir.add(sum, ir.scale(ir.sym(`r${d}`, size), stride));
  }, ir.int(0));
  const index =
    along === 'row' ? ir.add(ir.scale(i, length), place) : ir.add(i, ir.scale(place, results));
  return { i, index, count: sizeMul(length, results) };
}

describe('reducing code for all sizes', () => {
  for (const [name, extentsOf] of Object.entries(EXTENTS))
    for (const along of ['row', 'column'] as const) {
      it(`reduces ${along}s of ${name} by every operator`, () => {
        for (const [op, dtypes] of TYPES)
          for (const dtype of dtypes) {
            const ir = new IrBuilder();
            const [n, m] = symbols(2);
            const extents = extentsOf(n!, m!);
            const { i, index, count } = placeOf(ir, extents, along);
            const out = op === 'argmax' || op === 'argmin' ? 'int64' : dtype;
            const ids = op === 'welford' || op === 'online_softmax' ? [0, 1] : [0];
            const value = ir.load(dtype, 'x', index);
            const kernel = symbolicLoop({
              outer: [loop('i', extents.results)],
              inner: extents.inner.map((size, d) => loop(`r${d}`, size)),
              stages: [
                { kind: 'inner', body: [{ kind: 'reduce', op, ids, dtype: out, value }] },
                {
                  kind: 'outer',
                  body: ids.map((id) => ({
                    kind: 'store',
                    buf: `out${id}`,
                    index: i,
                    value: ir.acc(out, id),
                  })),
                },
              ],
              params: {
                x: [dtype, 'read'],
                ...Object.fromEntries(ids.map((id) => [`out${id}`, [out, 'write'] as const])),
              },
            });
            expectSameAtAllSizes(kernel, {
              symbols: [n!, m!],
              counts: {
                x: count,
                ...Object.fromEntries(ids.map((id) => [`out${id}`, extents.results])),
              },
              // Products stay small.
              fill: (buffer, k) =>
                op === 'prod' && buffer === 'x'
                  ? dtype === 'float32'
                    ? 1 + ((k % 7) - 3) / 64
                    : 1 - 2 * (k % 2)
                  : undefined,
              tolerance: 1e-4,
            });
          }
      });

      it(`takes running results along ${along}s of ${name}`, () => {
        for (const [op, dtype] of SCANS) {
          const ir = new IrBuilder();
          const [n, m] = symbols(2);
          const extents = extentsOf(n!, m!);
          if (extents.inner.length > 1) continue;
          const { index, count } = placeOf(ir, extents, along);
          const value = ir.load(dtype, 'x', index);
          const kernel = symbolicLoop({
            outer: [loop('i', extents.results)],
            inner: [loop('r0', extents.inner[0]!)],
            stages: [
              {
                kind: 'inner',
                body: [
                  { kind: 'reduce', op, ids: [0], dtype, value, running: true },
                  { kind: 'store', buf: 'out', index, value: ir.acc(dtype, 0) },
                ],
              },
            ],
            params: { x: [dtype, 'read'], out: [dtype, 'write'] },
          });
          expectSameAtAllSizes(kernel, {
            symbols: [n!, m!],
            counts: { x: count, out: count },
            fill: (buffer, k) =>
              op === 'prod' && buffer === 'x' ? 1 + ((k % 7) - 3) / 64 : undefined,
            tolerance: 1e-4,
          });
        }
      });

      it(`normalises ${along}s of ${name} in three passes`, () => {
        const ir = new IrBuilder();
        const [n, m] = symbols(2);
        const extents = extentsOf(n!, m!);
        const { index, count } = placeOf(ir, extents, along);
        const x = ir.load('float32', 'x', index);
        const shifted = ir.op('exp', [ir.op('sub', [x, ir.acc('float32', 0)])]);
        const reduce = (op: ReduceOp, id: number, value: typeof x): Stage => ({
          kind: 'inner',
          body: [{ kind: 'reduce', op, ids: [id], dtype: 'float32', value }],
        });
        const kernel = symbolicLoop({
          outer: [loop('i', extents.results)],
          inner: extents.inner.map((size, d) => loop(`r${d}`, size)),
          stages: [
            reduce('max', 0, x),
            reduce('sum', 1, shifted),
            {
              kind: 'inner',
              body: [
                {
                  kind: 'store',
                  buf: 'out',
                  index,
                  value: ir.op('div', [shifted, ir.acc('float32', 1)]),
                },
              ],
            },
          ],
          params: { x: ['float32', 'read'], out: ['float32', 'write'] },
        });
        for (const relaxedSimd of new Set([false, hasRelaxedSimd()]))
          expectSameAtAllSizes(kernel, {
            symbols: [n!, m!],
            counts: { x: count, out: count },
            relaxedSimd,
          });
      });
    }

  for (const lengths of [[33_003], [70_001], [3, 70_001], [40_001, 2], [300, 300]])
    for (const along of ['row', 'column'] as const)
      it(`keeps the precision of a sum of ${lengths.join(' × ')} along a ${along}, seen first with 8`, () => {
        const ir = new IrBuilder();
        const sizes = symbols(lengths.length);
        const extents = { results: 1, inner: sizes };
        const { i, index, count } = placeOf(ir, extents, along);
        const value = ir.load('float32', 'x', index);
        const kernel = symbolicLoop({
          outer: [loop('i', 1)],
          inner: sizes.map((size, d) => loop(`r${d}`, size)),
          stages: [
            {
              kind: 'inner',
              body: [{ kind: 'reduce', op: 'sum', ids: [0], dtype: 'float32', value }],
            },
            {
              kind: 'outer',
              body: [{ kind: 'store', buf: 'out', index: i, value: ir.acc('float32', 0) }],
            },
          ],
          params: { x: ['float32', 'read'], out: ['float32', 'write'] },
        });
        expectSameAtAllSizes(kernel, {
          symbols: sizes,
          values: [lengths],
          counts: { x: count, out: 1 },
          fill: (buffer) => (buffer === 'x' ? Math.fround(1.1) : 0),
          tolerance: 1e-6,
        });
      });
});
