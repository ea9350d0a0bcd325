/**
 * @file A recurrence for tests: two states, of which two vectors are multiplied, with three terms in two products; one
 * result depends on products and one does not.
 */
import {
  type LoopVar,
  IrBuilder,
  type Expr,
  type IndexExpr,
  type RecurrenceKernel,
} from '@tessera/inductor-core';
import { type Size, sizeMul, sizeProduct } from '@tessera/shared';
import type { DType } from '@tessera/tensor';

/** A kernel, and the elements of its buffers. */
export interface Recurrence {
  readonly kernel: RecurrenceKernel<Size>;
  readonly counts: Readonly<Record<string, Size>>;
}

/** How the weights lie: in vectors along units, or in rows of what a unit has of all others. */
export type WeightLayout = 'vectors' | 'rows';

const PARTS = 3;

/** A kernel of rows, steps and units. */
export function recurrence(
  rows: Size,
  steps: Size,
  units: number,
  dtype: DType = 'float32',
  layout: WeightLayout = 'vectors',
): Recurrence {
  const accDtype: DType = dtype === 'float64' ? dtype : 'float32';
  const e = new IrBuilder();
  const sym = (name: string, size: Size): IndexExpr => (size === 1 ? e.int(0) : e.sym(name, size));
  const [b, t, n, k] = [sym('b0', rows), sym('t0', steps), sym('n0', units), sym('k0', units)];
  const row = e.add(e.scale(b, units), n);
  const element = e.add(e.scale(e.scale(t, rows), units), row);
  const load = (buf: string, index: IndexExpr): Expr => e.cast(e.load(dtype, buf, index), accDtype);
  const acc = (id: number): Expr => e.acc(accDtype, id);
  const vectors = Math.ceil(units / 4);
  const weight = (p: number): Expr =>
    load(
      'weights',
      layout === 'rows'
        ? e.add(e.scale(n, units), k, e.int(p * units * units))
        : e.add(
            e.scale(e.div(n, 4), 4 * PARTS * units),
            e.scale(k, 4 * PARTS),
            e.int(4 * p),
            e.mod(n, 4),
          ),
    );
  const slow = e.op('tanh', [e.op('add', [acc(2), load('given', element)])]);
  const fast = e.op('mul', [acc(1), e.op('sigmoid', [acc(3)])]);
  const store = (buf: string, index: IndexExpr, value: Expr) =>
    ({ kind: 'store', buf, index, value: e.cast(value, dtype) }) as const;
  const vars = <S extends Size>(name: string, size: S): LoopVar<S>[] =>
    size === 1 ? [] : [{ name, size }];
  const all = sizeProduct([steps, rows, units]);
  return {
    kernel: {
      kind: 'recurrence',
      name: 'recurrence',
      params: [
        { name: 'first', dtype, access: 'read' },
        { name: 'given', dtype, access: 'read' },
        { name: 'weights', dtype, access: 'read' },
        { name: 'out', dtype, access: 'write' },
        { name: 'before', dtype, access: 'write' },
        { name: 'last', dtype, access: 'write' },
      ],
      scalars: [],
      batch: vars('b0', rows),
      step: vars('t0', steps),
      n: vars('n0', units),
      k: vars('k0', units),
      states: [
        { initial: load('first', row), next: slow },
        { initial: e.const(accDtype, 1), next: fast },
      ],
      vectors: [acc(0), e.op('mul', [acc(0), acc(1)])],
      products: [
        [
          { vector: 0, weight: weight(0) },
          { vector: 1, weight: weight(1) },
        ],
        [{ vector: 0, weight: weight(2) }],
      ],
      accDtype,
      stores: [store('out', element, slow), store('before', element, acc(0))],
      lastStores: [store('last', row, acc(1))],
    },
    counts: {
      first: sizeMul(rows, units),
      given: all,
      weights: layout === 'rows' ? PARTS * units * units : vectors * 4 * PARTS * units,
      out: all,
      before: all,
      last: sizeMul(rows, units),
    },
  };
}
