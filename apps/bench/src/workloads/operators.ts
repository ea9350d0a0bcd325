/**
 * @file Single operators of a matrix beside the peers: `pnpm bench operators`.
 *
 * What a program spends its time in besides matrix products: reductions in both directions, orders, scans, copies that
 * rearrange, and reads and writes at indices.
 */
import { type Tensor, zeros } from '@tessera/tensor';
import { rfft } from '@tessera/tensor/fft';
import { type HostArray, numelOf } from '../harness/host-array.js';
import { classes, normals } from '../harness/seeded.js';
import type { Programs, Setting, Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';

type Jax = Extract<NonNullable<Programs['jax']>, { kind: 'function' }>['make'];
type Tfjs = Extract<NonNullable<Programs['tfjs']>, { kind: 'function' }>['make'];

/** An operator of a matrix [rows, columns], and of indices of its rows where it takes them. */
interface Operator {
  readonly name: string;
  readonly about: string;
  /** How many indices it takes; none by default. */
  readonly indices?: number;
  readonly sizes: (rows: number, columns: number) => readonly number[];
  readonly tessera: (x: Tensor, indices: Tensor | undefined) => Tensor;
  readonly jax?: Jax;
  readonly tfjs?: Tfjs;
  /** Adds nodes that make `y`. */
  readonly onnx?: (graph: OnnxGraph, x: string, indices: string, columns: number) => void;
  /** The result, from rows of the matrix. */
  readonly reference: (rows: readonly Float32Array[], indices: Int32Array) => Float64Array;
}

const SAME = (rows: number, columns: number): number[] => [rows, columns];
const ROWS = (rows: number): number[] => [rows];
const COLUMNS = (_rows: number, columns: number): number[] => [columns];

const K = 10;

/** Row after row. */
function byRow(of: (row: Float32Array) => ArrayLike<number>): Operator['reference'] {
  return (rows) => Float64Array.from(rows.flatMap((row) => Array.from(of(row))));
}

function int64s(values: readonly number[]): Uint8Array {
  return new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
}

/** The nodes of a sum along one dimension. */
function summed(axis: number): Operator['onnx'] {
  return (graph, x) => {
    const axes = graph.tensor('int64', [1], int64s([axis]));
    graph.node('ReduceSum', [x, axes], { keepdims: 0 }, 'y');
  };
}

/** The nodes of the first `k` of every row in order. */
function firstOf(graph: OnnxGraph, x: string, k: number, largest: 0 | 1): void {
  const count = graph.tensor('int64', [1], int64s([k]));
  graph.nodes('TopK', [x, count], { axis: 1, largest, sorted: 1 }, ['y', graph.value()]);
}

const total = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0);

const OPERATORS: readonly Operator[] = [
  {
    name: 'sum_rows',
    about: 'sums along the last dimension',
    sizes: ROWS,
    tessera: (x) => x.sum(1),
    jax: () => (x) => x!.sum(1),
    tfjs: (tf) => (x) => tf.sum(x!, 1),
    onnx: summed(1),
    reference: byRow((row) => [total(row)]),
  },
  {
    name: 'sum_columns',
    about: 'sums along the first dimension',
    sizes: COLUMNS,
    tessera: (x) => x.sum(0),
    jax: () => (x) => x!.sum(0),
    tfjs: (tf) => (x) => tf.sum(x!, 0),
    onnx: summed(0),
    reference: (rows) => Float64Array.from(rows[0]!, (_, i) => total(rows.map((row) => row[i]!))),
  },
  {
    name: 'max_rows',
    about: 'largest along the last dimension',
    sizes: ROWS,
    tessera: (x) => x.amax(1),
    jax:
      ({ numpy }) =>
      (x) =>
        numpy.max(x!, 1),
    tfjs: (tf) => (x) => tf.max(x!, 1),
    onnx: (graph, x) => void graph.node('ReduceMax', [x], { axes: [1], keepdims: 0 }, 'y'),
    reference: byRow((row) => [Math.max(...row)]),
  },
  {
    name: 'cumsum',
    about: 'running sums along the last dimension',
    sizes: SAME,
    tessera: (x) => x.cumsum(1),
    jax:
      ({ numpy }) =>
      (x) =>
        numpy.cumsum(x!, 1),
    tfjs: (tf) => (x) => tf.cumsum(x!, 1),
    onnx(graph, x) {
      graph.node('CumSum', [x, graph.tensor('int64', [], int64s([1]))], {}, 'y');
    },
    reference: byRow((row) => {
      let sum = 0;
      return Float64Array.from(row, (value) => (sum += value));
    }),
  },
  {
    name: 'transpose',
    about: 'a copy with the dimensions exchanged',
    sizes: (rows, columns) => [columns, rows],
    tessera: (x) => x.t().contiguous(),
    jax: () => (x) => x!.transpose([1, 0]),
    tfjs: (tf) => (x) => tf.transpose(x!, [1, 0]),
    onnx: (graph, x) => void graph.node('Transpose', [x], { perm: [1, 0] }, 'y'),
    reference: (rows) =>
      Float64Array.from(Array.from(rows[0]!, (_, i) => rows.map((row) => row[i]!)).flat()),
  },
  {
    name: 'sort',
    about: 'every row in order',
    sizes: SAME,
    tessera: (x) => x.sort(1)[0],
    jax:
      ({ numpy }) =>
      (x) =>
        numpy.sort(x!, 1),
    tfjs: (tf) => (x) => tf.neg(tf.topk(tf.neg(x!), x!.shape[1]!).values),
    onnx: (graph, x, _indices, columns) => firstOf(graph, x, columns, 0),
    reference: byRow((row) => row.slice().sort()),
  },
  {
    name: 'topk',
    about: `the ${K} largest of every row`,
    sizes: (rows) => [rows, K],
    tessera: (x) => x.topk(K, { dim: 1 })[0],
    tfjs: (tf) => (x) => tf.topk(x!, K).values,
    onnx: (graph, x) => firstOf(graph, x, K, 1),
    reference: byRow((row) => row.slice().sort().reverse().subarray(0, K)),
  },
  {
    name: 'remainder',
    about: 'remainders of floats, which have the sign of the divisor',
    sizes: SAME,
    tessera: (x) => x.remainder(0.7),
    jax:
      ({ numpy }) =>
      (x) =>
        numpy.remainder(x!, 0.7),
    tfjs: (tf) => (x) => tf.mod(x!, 0.7),
    reference: byRow((row) => {
      const by = Math.fround(0.7);
      return Float64Array.from(row, (value) => value - Math.floor(value / by) * by);
    }),
  },
  {
    name: 'rfft',
    about: 'the spectrum of every row, real parts and imaginary ones in turn',
    sizes: (rows, columns) => [rows, columns / 2 + 1, 2],
    tessera: (x) => rfft(x),
    // TensorFlow.js has no kernel of it for WebAssembly.
    reference: byRow((row) => {
      const n = row.length;
      const turns = Float64Array.from({ length: n }, (_, k) => Math.cos((2 * Math.PI * k) / n));
      return Float64Array.from({ length: n + 2 }, (_, at) => {
        const k = at >> 1;
        // A sine is a cosine a quarter of a turn later.
        const shift = at % 2 === 0 ? 0 : n / 4;
        return row.reduce((sum, value, j) => sum + value * turns[(j * k + shift) % n]!, 0);
      });
    }),
  },
  {
    name: 'gather_rows',
    about: 'rows by their numbers',
    indices: 4096,
    sizes: (_rows, columns) => [4096, columns],
    tessera: (x, indices) => x.indexSelect(0, indices!),
    jax:
      ({ numpy }) =>
      (x, indices) =>
        numpy.take(x!, indices!, 0),
    tfjs: (tf) => (x, indices) => tf.gather(x!, tf.squeeze(indices!)),
    onnx: (graph, x, indices) => void graph.node('Gather', [x, indices], { axis: 0 }, 'y'),
    reference: (rows, indices) =>
      Float64Array.from(Array.from(indices).flatMap((at) => Array.from(rows[at]!))),
  },
  {
    name: 'add_rows',
    about: 'rows added up by their numbers (index_add)',
    indices: 1024,
    sizes: (rows, columns) => [rows, columns],
    tessera: (x, indices) => zeros(x.sizes, { device: x.device }).indexAdd(0, indices!, x),
    // TensorFlow.js has no kernel of it for WebAssembly.
    reference(rows, indices) {
      const columns = rows[0]!.length;
      const sums = new Float64Array(rows.length * columns);
      rows.forEach((row, i) =>
        row.forEach((value, j) => (sums[indices[i]! * columns + j]! += value)),
      );
      return sums;
    },
  },
];

function sizesFor({ device, quick }: Setting): readonly [number, number] {
  if (quick) return [1024, 64];
  return device === 'wgpu' ? [1024, 8192] : [1024, 1024];
}

function rowsOf({ data }: HostArray, columns: number): Float32Array[] {
  return Array.from({ length: data.length / columns }, (_, i) =>
    (data as Float32Array).subarray(i * columns, (i + 1) * columns),
  );
}

function workloadOf(operator: Operator): Workload {
  const { name, about, indices: count, sizes, tessera, jax, tfjs, onnx, reference } = operator;
  return {
    name,
    group: 'operators',
    about,
    devices: [],
    kind: 'steady',
    make(setting) {
      const [rows, columns] = sizesFor(setting);
      const x = normals([rows, columns], 7);
      const indices = count === undefined ? null : classes(count, rows, 8);
      const shape = sizes(rows, columns);
      let expected: Float64Array | null = null;
      return {
        shapes: `[${rows}, ${columns}]`,
        work: { bytes: 4 * (rows * columns + numelOf(shape)) },
        inputs: indices === null ? [x] : [x, indices],
        programs: {
          tessera: (args) => ({ fn: (a, b) => tessera(a!, b), args }),
          ...(jax === undefined ? {} : { jax: { kind: 'function', make: jax } }),
          ...(tfjs === undefined ? {} : { tfjs: { kind: 'function', make: tfjs } }),
          ...(onnx === undefined
            ? {}
            : {
                onnx() {
                  const graph = new OnnxGraph();
                  const a = graph.input('x0', [rows, columns]);
                  const b = indices === null ? '' : graph.input('x1', [count!], 'int64');
                  onnx(graph, a, b, columns);
                  return graph.output('y', shape);
                },
              }),
        },
        checkedCalls: 1,
        tolerance: { rtol: 5e-5, atol: 1e-3 },
        resultSize: numelOf(shape),
        reference: (i) =>
          (expected ??= reference(
            rowsOf(x, columns),
            (indices?.data ?? new Int32Array(0)) as Int32Array,
          ))[i]!,
      };
    },
  };
}

/** See the file header. */
export const operators: readonly Workload[] = OPERATORS.map(workloadOf);
