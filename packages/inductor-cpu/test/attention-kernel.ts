/**
 * @file Attention kernels for tests: the forward, and all gradients at once.
 */
import {
  type AttentionKernel,
  type Expr,
  type IndexExpr,
  IrBuilder,
  type SizedLoop,
} from '@tessera/inductor-core';
import { type Size, sizeProduct } from '@tessera/shared';
import type { DType } from '@tessera/tensor';

/** Rows m, columns j of each turn, and the width of both factors. */
export interface AttentionSpec {
  readonly batch: number;
  readonly rows: Size;
  readonly columns: Size;
  readonly width: number;
  /** Heads that share what the rows are of. */
  readonly turns?: number;
  readonly isCausal?: boolean;
  readonly dtype?: DType;
}

/** A kernel, and the elements of its buffers. */
export interface AttentionCase {
  readonly kernel: AttentionKernel<Size>;
  readonly counts: Readonly<Record<string, Size>>;
}

class Draft {
  readonly e = new IrBuilder();
  readonly dtype: DType;
  readonly acc: DType;
  readonly row: IndexExpr;
  readonly column: IndexExpr;
  readonly rows: IndexExpr;
  readonly columns: IndexExpr;

  constructor(readonly spec: AttentionSpec) {
    const { batch, rows, columns, turns = 1, dtype = 'float32' } = spec;
    const { e } = this;
    this.dtype = dtype;
    this.acc = dtype === 'float64' ? dtype : 'float32';
    [this.row, this.column] = [e.sym('m0', rows), e.sym('j1', columns)];
    const b = e.sym('b0', batch);
    this.rows = e.add(e.scale(b, rows), this.row);
    const entry = turns === 1 ? b : e.add(e.scale(b, turns), e.sym('j0', turns));
    this.columns = e.add(e.scale(entry, columns), this.column);
  }

  element(line: IndexExpr, along: 'k0' | 'n0'): IndexExpr {
    const { e, spec } = this;
    return e.add(e.scale(line, spec.width), e.sym(along, spec.width));
  }

  load(name: string, index: IndexExpr, dtype: DType = this.dtype): Expr {
    return this.e.cast(this.e.load(dtype, name, index), this.acc);
  }

  store(buf: string, index: IndexExpr, id: number, dtype: DType = this.dtype) {
    const value = this.e.cast(this.e.acc(this.acc, id), dtype);
    return { kind: 'store', buf, index, value } as const;
  }

  /** What is inside of the triangle, and `other` outside. */
  seen(value: Expr, op: 'le' | 'ge', other: number): Expr {
    const { e } = this;
    if (this.spec.isCausal !== true) return value;
    const inside = e.op(op, [e.index('int32', this.column), e.index('int32', this.row)]);
    return e.op('where', [inside, value, e.const(this.acc, other)]);
  }

  done(
    parts: Omit<
      AttentionKernel<Size>,
      'kind' | 'scalars' | 'batch' | 'm' | 'j' | 'k' | 'n' | 'accDtype'
    >,
    counts: AttentionCase['counts'],
  ): AttentionCase {
    const { batch, rows, columns, width, turns = 1 } = this.spec;
    const loop = (name: string, size: Size): SizedLoop => ({ name, size });
    const kernel: AttentionKernel<Size> = {
      ...parts,
      kind: 'attention',
      scalars: [],
      accDtype: this.acc,
      batch: [loop('b0', batch)],
      m: [loop('m0', rows)],
      j: [...(turns === 1 ? [] : [loop('j0', turns)]), loop('j1', columns)],
      k: [loop('k0', width)],
      n: [loop('n0', width)],
    };
    return { kernel, counts };
  }
}

/** `out = softmax(q kᵀ / 4 + bias) v` and log Σ exp of its rows; `bias` is [rows, columns]. */
export function forward(spec: AttentionSpec): AttentionCase {
  const d = new Draft(spec);
  const { e, acc, dtype } = d;
  const { batch, rows, columns, width, isCausal = false } = spec;
  const bias = d.load('bias', e.add(e.scale(d.row, columns), d.column), acc);
  const logit = e.op('add', [e.op('mul', [e.acc(acc, 0), e.const(acc, 0.25)]), bias]);
  const read = (name: string, type: DType = dtype) =>
    ({ name, dtype: type, access: 'read' }) as const;
  const elements = (lines: Size): Size => sizeProduct([batch, lines, width]);
  return d.done(
    {
      name: 'attention',
      params: [
        ...['q', 'k', 'v'].map((name) => read(name)),
        read('bias', acc),
        { name: 'out', dtype, access: 'write' },
        { name: 'sums', dtype: acc, access: 'write' },
      ],
      scores: [
        {
          a: d.load('q', d.element(d.rows, 'k0')),
          b: d.load('k', d.element(d.columns, 'k0')),
        },
      ],
      weights: [d.seen(logit, 'le', -Infinity)],
      values: [d.load('v', d.element(d.columns, 'n0'))],
      columnSums: [],
      softmax: true,
      triangle: isCausal ? 'lower' : 'none',
      epilogue: [d.store('out', d.element(d.rows, 'n0'), 0)],
      rowStores: [d.store('sums', d.rows, 0, acc)],
      columnStores: [],
      weightStores: [],
    },
    {
      q: elements(rows),
      k: elements(columns),
      v: elements(columns),
      bias: sizeProduct([rows, columns]),
      out: elements(rows),
      sums: sizeProduct([batch, rows]),
    },
  );
}

/** Two scores, two weights: sums of both over the columns, and of one over the rows. */
export function gradients(spec: AttentionSpec): AttentionCase {
  const d = new Draft(spec);
  const { e, acc, dtype } = d;
  const { batch, rows, columns, width, turns = 1, isCausal = false } = spec;
  const level = e.op('sub', [e.acc(acc, 0), d.load('sums', d.columns, acc)]);
  const raised = e.op('exp', [e.op('minimum', [level, e.const(acc, 1)])]);
  const weight = d.seen(raised, 'ge', 0);
  const ofRows = sizeProduct([batch, rows, width]);
  const ofColumns = sizeProduct([batch, turns, columns, width]);
  const rowLoad = (name: string, along: 'k0' | 'n0'): Expr =>
    d.load(name, d.element(d.rows, along));
  const columnLoad = (name: string, along: 'k0' | 'n0'): Expr =>
    d.load(name, d.element(d.columns, along));
  return d.done(
    {
      name: 'gradients',
      params: [
        ...['k', 'q', 'v', 'g'].map((name) => ({ name, dtype, access: 'read' as const })),
        { name: 'sums', dtype: acc, access: 'read' },
        ...['dv', 'dk'].map((name) => ({ name, dtype, access: 'write' as const })),
        { name: 'dq', dtype: acc, access: 'write' },
      ],
      scores: [
        { a: rowLoad('k', 'k0'), b: columnLoad('q', 'k0') },
        { a: rowLoad('v', 'k0'), b: columnLoad('g', 'k0') },
      ],
      weights: [weight, e.op('mul', [weight, e.acc(acc, 1)])],
      values: [columnLoad('g', 'n0'), columnLoad('q', 'n0')],
      columnSums: [{ weight: 1, value: rowLoad('k', 'n0') }],
      softmax: false,
      triangle: isCausal ? 'upper' : 'none',
      epilogue: ['dv', 'dk'].map((buf, q) => d.store(buf, d.element(d.rows, 'n0'), q)),
      rowStores: [],
      columnStores: [d.store('dq', d.element(d.columns, 'n0'), 0, acc)],
      weightStores: [],
    },
    {
      ...{ k: ofRows, v: ofRows, dv: ofRows, dk: ofRows },
      ...{ q: ofColumns, g: ofColumns, dq: ofColumns },
      sums: sizeProduct([batch, turns, columns]),
    },
  );
}
