/**
 * @file `pointwise_chain`: x · σ(x) · tanh(x) + y, which compilers fuse into one pass over memory.
 */
import { normals } from '../harness/seeded.js';
import type { Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';

export const pointwiseChain: Workload = {
  name: 'pointwise_chain',
  about: 'x·σ(x)·tanh(x) + y',
  devices: ['cpu', 'wgpu'],
  kind: 'steady',
  make({ device, quick }) {
    const n = 1 << (quick ? 18 : device === 'wgpu' ? 27 : 22);
    const inputs = [normals([n], 1), normals([n], 2)];
    const [x, y] = inputs.map(({ data }) => data) as [Float32Array, Float32Array];
    return {
      shapes: `2^${Math.log2(n)} elements`,
      work: { bytes: 12 * n },
      inputs,
      programs: {
        tessera: (args) => ({
          fn: (a, b) => a!.mul(a!.sigmoid()).mul(a!.tanh()).add(b!),
          args,
        }),
        jax: {
          kind: 'function',
          make:
            ({ nn, numpy }) =>
            (a, b) =>
              a!.ref.mul(nn.sigmoid(a!.ref)).mul(numpy.tanh(a!)).add(b!),
        },
        tfjs: {
          kind: 'function',
          make: (tf) => (a, b) => tf.add(tf.mul(tf.mul(a!, tf.sigmoid(a!)), tf.tanh(a!)), b!),
        },
        onnx() {
          const graph = new OnnxGraph();
          const a = graph.input('x0', [n]);
          const b = graph.input('x1', [n]);
          const gated = graph.node('Mul', [a, graph.node('Sigmoid', [a])]);
          const product = graph.node('Mul', [gated, graph.node('Tanh', [a])]);
          return graph.output(graph.node('Add', [product, b], {}, 'y'), [n]);
        },
      },
      checkedCalls: 1,
      tolerance: { rtol: 2e-5, atol: 1e-6 },
      resultSize: n,
      reference: (i) => (x[i]! / (1 + Math.exp(-x[i]!))) * Math.tanh(x[i]!) + y[i]!,
    };
  },
};
