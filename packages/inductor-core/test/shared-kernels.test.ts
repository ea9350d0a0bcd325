import type { Node } from '@tessera/graph';
import { describe, expect, it } from 'vitest';
import { type ExecutionPlan, compileGraph } from '../src/index.js';
import { GraphBuilder, target } from './graph-builder.js';

function planOf(build: (b: GraphBuilder) => readonly Node[]): ExecutionPlan {
  const b = new GraphBuilder();
  const outputs = build(b);
  return compileGraph(b.done(...outputs), { backend: target({}), name: 'test' });
}

describe('kernels of repeated bodies', () => {
  it('are one kernel, launched with the memory of each', () => {
    const plan = planOf((b) => {
      let state = b.input([4, 8]);
      for (let i = 0; i < 12; i++)
        state = b.op('tanh', b.op('add.Tensor', b.op('mm', state, b.input([8, 8])), state));
      return [state];
    });
    expect(plan.launches).toHaveLength(12);
    // First, last and in-place steps differ in what they may overwrite.
    expect(plan.kernels.length).toBeLessThanOrEqual(4);
    const weights = plan.launches.map(({ buffers }) => buffers.filter((at) => at > 0));
    expect(new Set(weights.map((list) => list.join())).size).toBe(12);
  });

  it('stay apart where size, dtype or place differ', () => {
    const plan = planOf((b) => {
      const wide = b.input([6, 8]);
      return [
        b.op('tanh', b.op('slice.Tensor', wide, 0, 0, 3, 1)),
        b.op('tanh', b.op('slice.Tensor', wide, 0, 3, 6, 1)),
        b.op('tanh', b.input([3, 9])),
        b.op('tanh', b.input([3, 8], 'float64')),
      ];
    });
    expect(plan.kernels).toHaveLength(plan.launches.length);
  });
});
