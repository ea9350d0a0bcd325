/**
 * @file Kernels as the scheduler makes them, one for each thing the generator does.
 */
import {
  IrBuilder,
  type BufferParam,
  type Expr,
  type IndexExpr,
  type LoopKernel,
  type LoopVar,
  type ReduceOp,
  type Stage,
  type Stmt,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';

const read = (name: string, dtype: DType = 'float32'): BufferParam => ({
  name,
  dtype,
  access: 'read',
});
const write = (name: string, dtype: DType = 'float32'): BufferParam => ({
  name,
  dtype,
  access: 'write',
});

function loop<S extends Size>(
  name: string,
  params: readonly BufferParam[],
  outer: readonly LoopVar<S>[],
  inner: readonly LoopVar<S>[],
  stages: readonly Stage[],
  scalars: LoopKernel['scalars'] = [],
): LoopKernel<S> {
  return { kind: 'loop', name, params, scalars, outer, inner, stages };
}

/** `out = x · σ(x) + y`, n elements. */
export function siluAdd<S extends Size = number>(n: S): LoopKernel<S> {
  const b = new IrBuilder();
  const i = b.sym('i0', n);
  const x = b.load('float32', 'x', i);
  const value = b.op('add', [b.op('mul', [x, b.op('sigmoid', [x])]), b.load('float32', 'y', i)]);
  return loop(
    'silu_add',
    [read('x'), read('y'), write('out')],
    [{ name: 'i0', size: n }],
    [],
    [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
  );
}

/** `out[i0, i1] = value`, all of a matrix. */
function overMatrix<S extends Size>(
  b: IrBuilder,
  name: string,
  reads: readonly BufferParam[],
  [rows, columns]: readonly [S, S],
  value: Expr,
): LoopKernel<S> {
  const index = b.add(b.scale(b.sym('i0', rows), columns), b.sym('i1', columns));
  const outer = [
    { name: 'i0', size: rows },
    { name: 'i1', size: columns },
  ];
  const body: Stmt[] = [{ kind: 'store', buf: 'out', index, value }];
  return loop(name, [...reads, write('out')], outer, [], [{ kind: 'outer', body }]);
}

/** `out[i, j] = x[i, j] * scale[i]`, where rows of `x` begin `pitch` apart. */
export function scaledRows<S extends Size = number>(
  rows: S,
  columns: S,
  pitch: number,
): LoopKernel<S> {
  const b = new IrBuilder();
  const [i, j] = [b.sym('i0', rows), b.sym('i1', columns)];
  const x = b.load('float32', 'x', b.add(b.scale(i, pitch), j));
  const value = b.op('mul', [x, b.load('float32', 'scale', i)]);
  return overMatrix(b, 'scaled_rows', [read('x'), read('scale')], [rows, columns], value);
}

/** `out[i, j] = gelu(x[j, i] + bias[j])`: a transposed read and a row that is broadcast. */
export function transposedGelu<S extends Size = number>(rows: S, columns: S): LoopKernel<S> {
  const b = new IrBuilder();
  const [i, j] = [b.sym('i0', rows), b.sym('i1', columns)];
  const x = b.op('add', [
    b.load('float32', 'x', b.add(b.scale(j, rows), i)),
    b.load('float32', 'bias', j),
  ]);
  const half = b.op('mul', [x, b.const('float32', 0.5)]);
  const erf = b.op('erf', [b.op('mul', [x, b.const('float32', Math.SQRT1_2)])]);
  const value = b.op('mul', [half, b.op('add', [erf, b.const('float32', 1)])]);
  return overMatrix(b, 'transposed_gelu', [read('x'), read('bias')], [rows, columns], value);
}

/** Softmax over rows: online maximum and sum, then the quotient. */
export function softmax<S extends Size = number>(rows: S, columns: S): LoopKernel<S> {
  const b = new IrBuilder();
  const [i, r] = [b.sym('i0', rows), b.sym('r0', columns)];
  const at = b.add(b.scale(i, columns), r);
  const x = b.load('float32', 'x', at);
  const value = b.op('div', [
    b.op('exp', [b.op('sub', [x, b.acc('float32', 0)])]),
    b.acc('float32', 1),
  ]);
  return loop(
    'softmax',
    [read('x'), write('out')],
    [{ name: 'i0', size: rows }],
    [{ name: 'r0', size: columns }],
    [
      {
        kind: 'inner',
        body: [{ kind: 'reduce', op: 'online_softmax', ids: [0, 1], dtype: 'float32', value: x }],
      },
      { kind: 'inner', body: [{ kind: 'store', buf: 'out', index: at, value }] },
    ],
  );
}

/** Layer norm over rows with weight and bias; also stores mean and 1/σ. */
export function layerNorm(rows: number, columns: number): LoopKernel {
  const b = new IrBuilder();
  const [i, r] = [b.sym('i0', rows), b.sym('r0', columns)];
  const at = b.add(b.scale(i, columns), r);
  const x = b.load('float32', 'x', at);
  const mean = b.acc('float32', 0);
  const variance = b.op('div', [b.acc('float32', 1), b.const('float32', columns)]);
  const rstd = b.op('rsqrt', [b.op('add', [variance, b.const('float32', 1e-5)])]);
  const normal = b.op('mul', [b.op('sub', [x, mean]), rstd]);
  const value = b.op('add', [
    b.op('mul', [normal, b.load('float32', 'weight', r)]),
    b.load('float32', 'bias', r),
  ]);
  return loop(
    'layer_norm',
    [read('x'), read('weight'), read('bias'), write('mean'), write('rstd'), write('out')],
    [{ name: 'i0', size: rows }],
    [{ name: 'r0', size: columns }],
    [
      {
        kind: 'inner',
        body: [{ kind: 'reduce', op: 'welford', ids: [0, 1], dtype: 'float32', value: x }],
      },
      {
        kind: 'outer',
        body: [
          { kind: 'store', buf: 'mean', index: i, value: mean },
          { kind: 'store', buf: 'rstd', index: i, value: rstd },
        ],
      },
      { kind: 'inner', body: [{ kind: 'store', buf: 'out', index: at, value }] },
    ],
  );
}

/** A row times a matrix of words of eight numbers of 4 bits, with a scale and a zero for each group of so many. */
export function rowTimesWords(columns: number, length: number, group = 32): LoopKernel {
  const b = new IrBuilder();
  const n = b.sym('n0', columns);
  const [g, w, r] = [b.sym('k0', length / group), b.sym('k1', group / 8), b.sym('k2', 8)];
  const word = b.add(b.scale(g, group / 8), w);
  const whole = (value: number): Expr => b.const('int32', value);
  const shift = b.op('mul', [b.index('int32', r), whole(4)]);
  const words = b.load('int32', 'words', b.add(b.scale(n, length / 8), word));
  const part = b.op('and', [b.op('shr', [words, shift]), whole(15)]);
  const centred = b.cast(b.op('sub', [part, whole(8)]), 'float32');
  const at = b.add(b.scale(g, 2 * columns), b.scale(n, 2));
  const [scale, zero] = [0, 1].map((i) => b.load('float32', 'scales', b.add(at, b.int(i))));
  const weight = b.op('add', [b.op('mul', [centred, scale!]), zero!]);
  const x = b.load('float32', 'x', b.add(b.scale(word, 8), r));
  const sum = (id: number, value: Expr): Stmt => ({
    kind: 'reduce',
    op: 'sum',
    ids: [id],
    dtype: 'float32',
    value,
  });
  return loop(
    'row_times_words',
    [read('x'), read('words', 'int32'), read('scales'), write('out')],
    [{ name: 'n0', size: columns }],
    [
      { name: 'k0', size: length / group },
      { name: 'k1', size: group / 8 },
      { name: 'k2', size: 8 },
    ],
    [
      { kind: 'inner', body: [sum(0, b.op('mul', [x, weight])), sum(1, b.op('mul', [x, x]))] },
      {
        kind: 'outer',
        body: [
          {
            kind: 'store',
            buf: 'out',
            index: n,
            value: b.op('mul', [b.acc('float32', 0), b.acc('float32', 1)]),
          },
        ],
      },
    ],
  );
}

/** A row of `length` times packed weights of 8 bits: words [columns, length / 4], a scale for each column. */
export function rowTimesBytes(columns: number, length: number): LoopKernel {
  const b = new IrBuilder();
  const [n, w, r] = [b.sym('n0', columns), b.sym('k0', length / 4), b.sym('k1', 4)];
  const whole = (value: number): Expr => b.const('int32', value);
  const shift = b.op('mul', [b.index('int32', r), whole(8)]);
  const word = b.load('int32', 'words', b.add(b.scale(n, length / 4), w));
  const top = b.op('shl', [word, b.op('sub', [whole(24), shift])]);
  const byte = b.cast(b.op('shr', [top, whole(24)]), 'float32');
  const x = b.load('float32', 'x', b.add(b.scale(w, 4), r));
  const value = b.op('mul', [x, byte]);
  const scaled = b.op('mul', [b.acc('float32', 0), b.load('float32', 'scales', n)]);
  return loop(
    'row_times_bytes',
    [read('x'), read('words', 'int32'), read('scales'), write('out')],
    [{ name: 'n0', size: columns }],
    [
      { name: 'k0', size: length / 4 },
      { name: 'k1', size: 4 },
    ],
    [
      { kind: 'inner', body: [{ kind: 'reduce', op: 'sum', ids: [0], dtype: 'float32', value }] },
      { kind: 'outer', body: [{ kind: 'store', buf: 'out', index: n, value: scaled }] },
    ],
  );
}

/** A reduction of a matrix: over its rows' elements (`rows`), or over its columns' (`columns`). */
export function reduceMatrix(
  op: ReduceOp,
  along: 'rows' | 'columns',
  rows: number,
  columns: number,
  dtype: DType = 'float32',
): LoopKernel {
  const b = new IrBuilder();
  const [outerSize, innerSize] = along === 'rows' ? [rows, columns] : [columns, rows];
  const [i, r] = [b.sym('i0', outerSize), b.sym('r0', innerSize)];
  const at: IndexExpr =
    along === 'rows' ? b.add(b.scale(i, columns), r) : b.add(b.scale(r, columns), i);
  let value: Expr = b.load(dtype, 'x', at);
  if (op === 'any' || op === 'all') value = b.op('gt', [value, b.const(dtype, 0)]);
  const two = op === 'welford' || op === 'online_softmax';
  const resultType: DType = op.startsWith('arg') ? 'int64' : value.dtype;
  const ids = two ? [0, 1] : [0];
  return loop(
    `${op}_${along}`,
    [read('x', dtype), ...ids.map((id) => write(`out${id}`, resultType))],
    [{ name: 'i0', size: outerSize }],
    [{ name: 'r0', size: innerSize }],
    [
      { kind: 'inner', body: [{ kind: 'reduce', op, ids, dtype: resultType, value }] },
      {
        kind: 'outer',
        body: ids.map((id) => ({
          kind: 'store',
          buf: `out${id}`,
          index: i,
          value: b.acc(resultType, id),
        })),
      },
    ],
  );
}

/** `out[n, c] = Σ_h Σ_w x[n, h, w, c]`: two inner variables, contiguous along the outer one. */
export function spatialSum(n: number, h: number, w: number, c: number): LoopKernel {
  const b = new IrBuilder();
  const [i, j, y, x] = [b.sym('i0', n), b.sym('i1', c), b.sym('r0', h), b.sym('r1', w)];
  const at = b.add(b.scale(i, h * w * c), b.scale(y, w * c), b.scale(x, c), j);
  return loop(
    'spatial_sum',
    [read('x'), write('out')],
    [
      { name: 'i0', size: n },
      { name: 'i1', size: c },
    ],
    [
      { name: 'r0', size: h },
      { name: 'r1', size: w },
    ],
    [
      {
        kind: 'inner',
        body: [
          {
            kind: 'reduce',
            op: 'sum',
            ids: [0],
            dtype: 'float32',
            value: b.load('float32', 'x', at),
          },
        ],
      },
      {
        kind: 'outer',
        body: [
          { kind: 'store', buf: 'out', index: b.add(b.scale(i, c), j), value: b.acc('float32', 0) },
        ],
      },
    ],
  );
}

/** `out[i, j] = table[ids[i], j]`: an embedding. */
export function embedding(count: number, width: number): LoopKernel {
  const b = new IrBuilder();
  const [i, j] = [b.sym('i0', count), b.sym('i1', width)];
  const id = b.value(b.load('int64', 'ids', i));
  const value = b.load('float32', 'table', b.add(b.mul(id, b.int(width)), j));
  return loop(
    'embedding',
    [read('ids', 'int64'), read('table'), write('out')],
    [
      { name: 'i0', size: count },
      { name: 'i1', size: width },
    ],
    [],
    [
      {
        kind: 'outer',
        body: [{ kind: 'store', buf: 'out', index: b.add(b.scale(i, width), j), value }],
      },
    ],
  );
}

/** Rows that are added to those of a table that ids name. */
export function rowSums(count: number, width: number): LoopKernel {
  const b = new IrBuilder();
  const [i, j] = [b.sym('i0', count), b.sym('i1', width)];
  const id = b.value(b.load('int64', 'ids', i));
  const value = b.load('float32', 'rows', b.add(b.scale(i, width), j));
  const index = b.add(b.mul(id, b.int(width)), j);
  return loop(
    'row_sums',
    [read('ids', 'int64'), read('rows'), write('table')],
    [
      { name: 'i0', size: count },
      { name: 'i1', size: width },
    ],
    [],
    [{ kind: 'outer', body: [{ kind: 'store', buf: 'table', index, value, combine: 'sum' }] }],
  );
}

/** Concatenation of two vectors as masked loads. */
export function concatenation(first: number, second: number): LoopKernel {
  const b = new IrBuilder();
  const i = b.sym('i0', first + second);
  const position = b.index('int64', i);
  const low = b.op('lt', [position, b.const('int64', first)]);
  const value = b.op('where', [
    low,
    b.masked(low, b.load('float32', 'x', i), 0),
    b.masked(b.op('not', [low]), b.load('float32', 'y', b.add(i, b.int(-first))), 0),
  ]);
  return loop(
    'concatenation',
    [read('x'), read('y'), write('out')],
    [{ name: 'i0', size: first + second }],
    [],
    [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
  );
}

/** Dropout with Philox: `x · (u >= p) / (1 - p)`, and a normal number beside it. */
export function dropout(n: number): LoopKernel {
  const b = new IrBuilder();
  const i = b.sym('i0', n);
  const [seed, offset] = [b.scalar('int64', 'seed'), b.scalar('int64', 'offset')];
  const u = b.random('float32', 'uniform', seed, offset, i);
  const keep = b.op('ge', [u, b.scalar('float32', 'p')]);
  const scale = b.op('reciprocal', [
    b.op('sub', [b.const('float32', 1), b.scalar('float32', 'p')]),
  ]);
  const value = b.op('mul', [
    b.op('mul', [b.load('float32', 'x', i), b.cast(keep, 'float32')]),
    scale,
  ]);
  const noise = b.random('float32', 'normal', seed, b.op('add', [offset, b.const('int64', 1)]), i);
  return loop(
    'dropout',
    [read('x'), write('out'), write('noise'), write('mask', 'bool')],
    [{ name: 'i0', size: n }],
    [],
    [
      {
        kind: 'outer',
        body: [
          { kind: 'store', buf: 'out', index: i, value },
          { kind: 'store', buf: 'noise', index: i, value: noise },
          { kind: 'store', buf: 'mask', index: i, value: keep },
        ],
      },
    ],
    [
      { name: 'seed', dtype: 'int64' },
      { name: 'offset', dtype: 'int64' },
      { name: 'p', dtype: 'float32' },
    ],
  );
}

/** An SGD step with momentum, in place: `m = μ m + g; p -= lr m`. */
export function sgdStep(n: number): LoopKernel {
  const b = new IrBuilder();
  const i = b.sym('i0', n);
  const momentum = b.op('add', [
    b.op('mul', [b.scalar('float32', 'mu'), b.load('float32', 'm', i)]),
    b.load('float32', 'g', i),
  ]);
  const parameter = b.op('sub', [
    b.load('float32', 'p', i),
    b.op('mul', [b.scalar('float32', 'lr'), momentum]),
  ]);
  return loop(
    'sgd_step',
    [
      { name: 'p', dtype: 'float32', access: 'readwrite' },
      { name: 'm', dtype: 'float32', access: 'readwrite' },
      read('g'),
    ],
    [{ name: 'i0', size: n }],
    [],
    [
      {
        kind: 'outer',
        body: [
          { kind: 'store', buf: 'm', index: i, value: momentum },
          { kind: 'store', buf: 'p', index: i, value: parameter },
        ],
      },
    ],
    [
      { name: 'mu', dtype: 'float32' },
      { name: 'lr', dtype: 'float32' },
    ],
  );
}

/** Numbers in [-2, 2) that repeat only after a prime count. */
export function wave(count: number, step = 7): number[] {
  return Array.from({ length: count }, (_, i) => ((i * step) % 251) / 64 - 2 + 1 / 128);
}

/** `count` zeros. */
export function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}
