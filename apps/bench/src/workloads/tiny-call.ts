/**
 * @file `tiny_call`: x·2 + 1 on 16 elements, which measures everything but arithmetic. `tiny_call_pure` is
 * the same under `compile(…, { pure: true })`, which does not run the function's JavaScript again.
 */
import type { CompileOptions } from '@tessera/compile';
import { normals } from '../harness/seeded.js';
import type { Case, Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';

/** The call on `n` elements. */
export function tinyCase(n: number, compileOptions: CompileOptions = {}): Case {
  const input = normals([n], 9);
  return {
    shapes: `[${n}]`,
    work: {},
    inputs: [input],
    programs: {
      tessera: (args) => ({ fn: (x) => x!.mul(2).add(1), args }),
      jax: { kind: 'function', make: () => (x) => x!.mul(2).add(1) },
      tfjs: {
        kind: 'function',
        make: (tf) => {
          const two = tf.scalar(2);
          const one = tf.scalar(1);
          return (x) => tf.add(tf.mul(x!, two), one);
        },
      },
      onnx() {
        const graph = new OnnxGraph();
        const x = graph.input('x0', [n]);
        const doubled = graph.node('Mul', [x, graph.constant(Float32Array.of(2), [])]);
        const one = graph.constant(Float32Array.of(1), []);
        return graph.output(graph.node('Add', [doubled, one], {}, 'y'), [n]);
      },
    },
    compileOptions,
    checkedCalls: 1,
    tolerance: { rtol: 1e-6, atol: 1e-6 },
    resultSize: n,
    reference: (i) => input.data[i]! * 2 + 1,
  };
}

export const tinyCall: Workload = {
  name: 'tiny_call',
  about: 'x·2 + 1',
  devices: ['cpu', 'wgpu'],
  kind: 'steady',
  make: () => tinyCase(16),
};

export const tinyCallPure: Workload = {
  name: 'tiny_call_pure',
  group: 'tiny_call',
  about: 'x·2 + 1, compiled with `pure`',
  devices: ['cpu', 'wgpu'],
  kind: 'steady',
  make: () => tinyCase(16, { pure: true }),
};
