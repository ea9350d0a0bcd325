/**
 * @file A recurrence kernel for tests: two states, of which two vectors are multiplied, with three terms in two products.
 */
import { IrBuilder, type RecurrenceKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';

/** Rows, steps and units of a kernel. */
export function recurrenceKernel<S extends Size = number>(
  rows: S,
  steps: S,
  units: number,
): RecurrenceKernel<S> {
  const e = new IrBuilder();
  const [b, t, n, k] = [
    e.sym('b0', rows),
    e.sym('t0', steps),
    e.sym('n0', units),
    e.sym('k0', units),
  ];
  const row = e.add(e.scale(b, units), n);
  const element = e.add(e.mul(t, e.scale(e.size(rows), units)), row);
  const load = (buf: string, index: typeof n) => e.load('float32', buf, index);
  const acc = (id: number) => e.acc('float32', id);
  const weight = (p: number) =>
    load('weights', e.add(e.add(e.scale(n, units), k), e.int(p * units * units)));
  const slow = e.op('tanh', [e.op('add', [acc(2), load('given', element)])]);
  const fast = e.op('mul', [acc(1), e.op('sigmoid', [acc(3)])]);
  return {
    kind: 'recurrence',
    name: 'recurrence',
    params: [
      { name: 'first', dtype: 'float32', access: 'read' },
      { name: 'given', dtype: 'float32', access: 'read' },
      { name: 'weights', dtype: 'float32', access: 'read' },
      { name: 'out', dtype: 'float32', access: 'write' },
      { name: 'last', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    batch: [{ name: 'b0', size: rows }],
    step: [{ name: 't0', size: steps }],
    n: [{ name: 'n0', size: units }],
    k: [{ name: 'k0', size: units }],
    states: [
      { initial: load('first', row), next: slow },
      { initial: e.const('float32', 1), next: fast },
    ],
    vectors: [acc(0), e.op('mul', [acc(0), acc(1)])],
    products: [
      [
        { vector: 0, weight: weight(0) },
        { vector: 1, weight: weight(1) },
      ],
      [{ vector: 0, weight: weight(2) }],
    ],
    accDtype: 'float32',
    stores: [{ kind: 'store', buf: 'out', index: element, value: slow }],
    lastStores: [{ kind: 'store', buf: 'last', index: row, value: acc(1) }],
  };
}
