/**
 * @file Attention kernels for tests: forward with a softmax, and the gradients of key and value.
 */
import { IrBuilder, type AttentionKernel, type LoopVar } from '@tessera/inductor-core';

/** Sizes of a kernel: rows m, columns j (and turns of them), width. */
export interface AttentionSpec {
  readonly batch: number;
  readonly m: number;
  readonly j: number;
  readonly width: number;
  /** Heads that share what the rows are of. */
  readonly turns?: number;
  readonly triangle?: AttentionKernel['triangle'];
  /** Factors, values and results are float16. */
  readonly half?: boolean;
  /** The second weight of gradients is stored, [batch, j, m] for each turn. */
  readonly kept?: boolean;
}

function names({ batch, m, j, width, turns = 1 }: AttentionSpec) {
  const e = new IrBuilder();
  const loop = (name: string, size: number): LoopVar => ({ name, size });
  const at = (name: string, size: number) => e.sym(name, size);
  const [b, row, column, k, n] = [
    at('b0', batch),
    at('m0', m),
    at('j1', j),
    at('k0', width),
    at('n0', width),
  ];
  const turn = turns === 1 ? null : at('j0', turns);
  const columnBatch = turn === null ? b : e.add(e.scale(b, turns), turn);
  const rowAt = (along: typeof k) =>
    e.add(e.scale(b, m * width), e.add(e.scale(row, width), along));
  const columnAt = (along: typeof k) =>
    e.add(e.scale(columnBatch, j * width), e.add(e.scale(column, width), along));
  return {
    e,
    row,
    column,
    rowAt,
    columnAt,
    k,
    n,
    rows: e.add(e.scale(b, m), row),
    columns: e.add(e.scale(columnBatch, j), column),
    keptAt: e.add(e.scale(e.add(e.scale(columnBatch, j), column), m), row),
    loops: {
      batch: [loop('b0', batch)],
      m: [loop('m0', m)],
      j: [...(turns === 1 ? [] : [loop('j0', turns)]), loop('j1', j)],
      k: [loop('k0', width)],
      n: [loop('n0', width)],
    },
  };
}

const TYPE = 'float32' as const;

function stored({ half = false }: AttentionSpec): 'float16' | 'float32' {
  return half ? 'float16' : TYPE;
}

/** `out = softmax(q kᵀ / 4 + bias) v` and log Σ exp of its rows; `bias` is [m, j]. */
export function forwardAttention(spec: AttentionSpec): AttentionKernel {
  const { e, row, column, rowAt, columnAt, k, n, rows, loops } = names(spec);
  const bias = e.load(TYPE, 'bias', e.add(e.scale(row, spec.j), column));
  const scaled = e.op('mul', [e.acc(TYPE, 0), e.const(TYPE, 0.25)]);
  const inside = e.op('le', [e.index('int32', column), e.index('int32', row)]);
  const logit = e.op('add', [scaled, bias]);
  const { triangle = 'none' } = spec;
  const dtype = stored(spec);
  const load = (name: string, index: ReturnType<typeof rowAt>) =>
    e.cast(e.load(dtype, name, index), TYPE);
  return {
    kind: 'attention',
    name: 'attention',
    params: [
      ...['q', 'k', 'v'].map((name) => ({ name, dtype, access: 'read' as const })),
      { name: 'bias', dtype: TYPE, access: 'read' },
      { name: 'out', dtype, access: 'write' },
      { name: 'sums', dtype: TYPE, access: 'write' },
    ],
    scalars: [],
    ...loops,
    scores: [{ a: load('q', rowAt(k)), b: load('k', columnAt(k)) }],
    weights: [
      triangle === 'lower' ? e.op('where', [inside, logit, e.const(TYPE, -Infinity)]) : logit,
    ],
    values: [load('v', columnAt(n))],
    columnSums: [],
    columnStores: [],
    weightStores: [],
    softmax: true,
    triangle,
    accDtype: TYPE,
    epilogue: [
      { kind: 'store', buf: 'out', index: rowAt(n), value: e.cast(e.acc(TYPE, 0), dtype) },
    ],
    rowStores: [{ kind: 'store', buf: 'sums', index: rows, value: e.acc(TYPE, 0) }],
  };
}

/** Two scores, two weights and two results: what the gradients of value and key are made of. */
export function gradientAttention(spec: AttentionSpec): AttentionKernel {
  const { e, row, column, rowAt, columnAt, k, n, columns, keptAt, loops } = names(spec);
  const { triangle = 'none', kept = false } = spec;
  const inside = e.op('ge', [e.index('int32', column), e.index('int32', row)]);
  const level = e.op('sub', [e.acc(TYPE, 0), e.load(TYPE, 'sums', columns)]);
  const raised = e.op('exp', [e.op('minimum', [level, e.const(TYPE, 1)])]);
  const weight = triangle === 'upper' ? e.op('where', [inside, raised, e.const(TYPE, 0)]) : raised;
  const dtype = stored(spec);
  const load = (name: string, index: ReturnType<typeof rowAt>) =>
    e.cast(e.load(dtype, name, index), TYPE);
  return {
    kind: 'attention',
    name: 'gradients',
    params: [
      ...['k', 'q', 'v', 'g'].map((name) => ({ name, dtype, access: 'read' as const })),
      { name: 'sums', dtype: TYPE, access: 'read' },
      ...['dv', 'dk'].map((name) => ({ name, dtype, access: 'write' as const })),
      ...(kept ? [{ name: 'kept', dtype: TYPE, access: 'write' as const }] : []),
    ],
    scalars: [],
    ...loops,
    scores: [
      { a: load('k', rowAt(k)), b: load('q', columnAt(k)) },
      { a: load('v', rowAt(k)), b: load('g', columnAt(k)) },
    ],
    weights: [weight, e.op('mul', [weight, e.acc(TYPE, 1)])],
    values: [load('g', columnAt(n)), load('q', columnAt(n))],
    columnSums: [],
    columnStores: [],
    weightStores: kept
      ? [{ kind: 'store', buf: 'kept', index: keptAt, value: e.acc(TYPE, 1) }]
      : [],
    softmax: false,
    triangle,
    accDtype: TYPE,
    epilogue: ['dv', 'dk'].map((buf, q) => ({
      kind: 'store' as const,
      buf,
      index: rowAt(n),
      value: e.cast(e.acc(TYPE, q), dtype),
    })),
    rowStores: [],
  };
}

/** A sum of values with weights that are in memory, [batch, m, j]: what the gradient of the query is made of. */
export function keptAttention(spec: AttentionSpec): AttentionKernel {
  const { e, row, column, rowAt, columnAt, n, rows, loops } = names(spec);
  const { triangle = 'none' } = spec;
  const weight = e.load(TYPE, 'kept', e.add(e.scale(rows, spec.j), column));
  const inside = e.op('le', [e.index('int32', column), e.index('int32', row)]);
  return {
    kind: 'attention',
    name: 'kept_gradient',
    params: [
      { name: 'kept', dtype: TYPE, access: 'read' },
      { name: 'k', dtype: TYPE, access: 'read' },
      { name: 'out', dtype: TYPE, access: 'write' },
    ],
    scalars: [],
    ...loops,
    scores: [],
    weights: [triangle === 'lower' ? e.op('where', [inside, weight, e.const(TYPE, 0)]) : weight],
    values: [e.load(TYPE, 'k', columnAt(n))],
    columnSums: [],
    columnStores: [],
    weightStores: [],
    softmax: false,
    triangle,
    accDtype: TYPE,
    epilogue: [{ kind: 'store', buf: 'out', index: rowAt(n), value: e.acc(TYPE, 0) }],
    rowStores: [],
  };
}

/** Numbers in [-1, 1] for every buffer; `hidden` rows see nothing. */
export function attentionData(
  { batch, m, j, width, turns = 1 }: AttentionSpec,
  hidden: readonly number[] = [],
): Record<string, number[]> {
  let state = 1;
  const random = (): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 2 ** 31 - 1;
  };
  const list = (length: number): number[] => Array.from({ length }, () => Math.fround(random()));
  const [rows, columns] = [batch * m * width, batch * turns * j * width];
  const bias = list(m * j);
  for (const row of hidden) bias.fill(-Infinity, row * j, (row + 1) * j);
  return {
    q: list(Math.max(rows, columns)),
    k: list(Math.max(rows, columns)),
    v: list(Math.max(rows, columns)),
    g: list(columns),
    bias,
    sums: list(Math.max(batch * m, batch * turns * j)),
    out: list(rows),
    dv: list(rows),
    dk: list(rows),
    kept: list(batch * turns * j * m),
  };
}
