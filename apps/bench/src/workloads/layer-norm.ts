/**
 * @file `layer_norm` over the last dimension, with weight and bias.
 */
import { functional as F } from '@tessera/nn';
import { normals } from '../harness/seeded.js';
import type { Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';
import { rowReference } from './row-reference.js';

const EPSILON = 1e-5;

function normalizedRow(row: Float32Array): Float64Array {
  const values = Float64Array.from(row);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  return values.map((value) => (value - mean) / Math.sqrt(variance + EPSILON));
}

export const layerNorm: Workload = {
  name: 'layer_norm',
  about: 'layer norm over the last dimension, with weight and bias',
  devices: ['cpu', 'wgpu'],
  kind: 'steady',
  make({ device, quick }) {
    const rows = quick ? 256 : device === 'wgpu' ? 16384 : 4096;
    const columns = quick ? 512 : 1024;
    const shape = [rows, columns];
    const inputs = [normals(shape, 4), normals([columns], 5), normals([columns], 6)];
    const [x, weight, bias] = inputs.map(({ data }) => data as Float32Array);
    const normalized = rowReference(x!, columns, normalizedRow);
    return {
      shapes: `[${rows}, ${columns}]`,
      work: { bytes: 8 * rows * columns },
      inputs,
      programs: {
        tessera: (args) => ({
          fn: (a, w, b) => F.layerNorm(a!, [columns], { weight: w!, bias: b! }),
          args,
        }),
        jax: {
          kind: 'function',
          make:
            ({ nn }) =>
            (a, w, b) =>
              nn.standardize(a!, -1, { epsilon: EPSILON }).mul(w!).add(b!),
        },
        tfjs: {
          kind: 'function',
          make: (tf) => (a, w, b) => {
            const { mean, variance } = tf.moments(a!, -1, true);
            const scaled = tf.mul(tf.sub(a!, mean), tf.rsqrt(tf.add(variance, EPSILON)));
            return tf.add(tf.mul(scaled, w!), b!);
          },
        },
        onnx() {
          const graph = new OnnxGraph();
          const a = graph.input('x0', shape);
          const w = graph.input('x1', [columns]);
          const b = graph.input('x2', [columns]);
          const attributes = { axis: -1, epsilon: { float: EPSILON } };
          return graph.output(graph.node('LayerNormalization', [a, w, b], attributes, 'y'), shape);
        },
      },
      checkedCalls: 1,
      tolerance: { rtol: 5e-5, atol: 2e-5 },
      resultSize: rows * columns,
      reference: (i) => normalized(i) * weight![i % columns]! + bias![i % columns]!,
    };
  },
};
