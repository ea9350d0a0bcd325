/**
 * @file `softmax` over the last dimension.
 */
import { normals } from '../harness/seeded.js';
import type { Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';
import { rowReference } from './row-reference.js';

function softmaxRow(row: Float32Array): Float64Array {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Float64Array.from(row, (value) => Math.exp(value - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((value) => value / sum);
}

export const softmax: Workload = {
  name: 'softmax',
  about: 'softmax over the last dimension',
  devices: ['cpu', 'wgpu'],
  kind: 'steady',
  make({ device, quick }) {
    const rows = quick ? 256 : device === 'wgpu' ? 16384 : 2048;
    const columns = quick ? 512 : 2048;
    const shape = [rows, columns];
    const input = normals(shape, 3);
    return {
      shapes: `[${rows}, ${columns}]`,
      work: { bytes: 8 * rows * columns },
      inputs: [input],
      programs: {
        tessera: (args) => ({ fn: (x) => x!.softmax(-1), args }),
        jax: {
          kind: 'function',
          make:
            ({ nn }) =>
            (x) =>
              nn.softmax(x!, -1),
        },
        tfjs: { kind: 'function', make: (tf) => (x) => tf.softmax(x!) },
        onnx() {
          const graph = new OnnxGraph();
          const x = graph.input('x0', shape);
          return graph.output(graph.node('Softmax', [x], { axis: -1 }, 'y'), shape);
        },
      },
      checkedCalls: 1,
      tolerance: { rtol: 5e-5, atol: 1e-8 },
      resultSize: rows * columns,
      reference: rowReference(input.data as Float32Array, columns, softmaxRow),
    };
  },
};
