/**
 * @file `matmul_f32_<n>`: products of square matrices.
 */
import { normals } from '../harness/seeded.js';
import type { Device, Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';

/** The product of two n × n matrices. `--quick` takes a quarter of n. */
function matmul(size: number, devices: readonly Device[]): Workload {
  return {
    name: `matmul_f32_${size}`,
    about: 'matrix product',
    devices,
    kind: 'steady',
    make({ quick }) {
      const n = quick ? size / 4 : size;
      const shape = [n, n];
      const inputs = [normals(shape, 7), normals(shape, 8)];
      const [x, y] = inputs.map(({ data }) => data) as [Float32Array, Float32Array];
      return {
        shapes: `[${n}, ${n}] @ [${n}, ${n}]`,
        work: { flop: 2 * n ** 3 },
        inputs,
        programs: {
          tessera: (args) => ({ fn: (a, b) => a!.matmul(b!), args }),
          jax: {
            kind: 'function',
            make:
              ({ numpy }) =>
              (a, b) =>
                numpy.matmul(a!, b!),
          },
          tfjs: { kind: 'function', make: (tf) => (a, b) => tf.matMul(a!, b!) },
          onnx() {
            const graph = new OnnxGraph();
            const operands = [graph.input('x0', shape), graph.input('x1', shape)];
            return graph.output(graph.node('MatMul', operands, {}, 'y'), shape);
          },
        },
        checkedCalls: 1,
        // Sums of n products of standard normal values, in any order.
        tolerance: { rtol: 1e-4, atol: 1e-6 * n },
        resultSize: n * n,
        reference(index) {
          const row = Math.floor(index / n);
          const column = index % n;
          let sum = 0;
          for (let k = 0; k < n; k++) sum += x[row * n + k]! * y[k * n + column]!;
          return sum;
        },
      };
    },
  };
}

export const matmuls: readonly Workload[] = [
  matmul(512, ['cpu']),
  matmul(1024, ['cpu', 'wgpu']),
  matmul(2048, ['wgpu']),
  matmul(4096, ['wgpu']),
];
