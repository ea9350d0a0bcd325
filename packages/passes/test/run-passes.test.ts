import { type GraphModule, type Node, makeFx } from '@tessera/graph';
import { config, counters } from '@tessera/shared';
import { type Tensor, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type Pass, dce, jointPasses, noopRemoval, runPasses } from '../src/index.js';

describe('runPasses', () => {
  it('runs the joint pipeline on a traced training step', () => {
    const module = makeFx((x: Tensor, w: Tensor) => {
      x.mm(w).mul(1).sum().backward();
      return [w.grad, x.mm(w)];
    })(ones([2, 3]), ones([3, 2]).requiresGrad_());
    const expected = (module.forward(ones([2, 3]), ones([3, 2])) as Tensor[]).map((t) =>
      t.toArray(),
    );
    const before = module.graph.size;
    expect(runPasses(module, jointPasses)).toBe(true);
    expect(module.graph.size).toBeLessThan(before);
    expect(
      (module.forward(ones([2, 3]), ones([3, 2])) as Tensor[]).map((t) => t.toArray()),
    ).toEqual(expected);
    expect(runPasses(module, jointPasses)).toBe(false);
  });

  it('counts passes that changed something', () => {
    counters.clear('passes');
    runPasses(makeFx((x: Tensor) => x.mul(1).neg())(ones([2])), [noopRemoval, dce]);
    expect(counters.get('passes')).toEqual({ 'noop-removal': 1, dce: 0 });
  });

  it('names the pass that broke the graph, if asked to check', () => {
    const broken: Pass = {
      name: 'broken',
      run: ({ graph }) => {
        const [x, y] = graph.nodes as [Node, Node];
        graph.moveBefore(y, x);
        return true;
      },
    };
    const module = (): GraphModule => makeFx((x: Tensor) => x.neg())(ones([2]));
    expect(() => runPasses(module(), [broken])).toThrow(
      /Pass 'broken' left a broken graph[^]*before it is defined/,
    );
    expect(config.patch({ passes: { lint: false } }, () => runPasses(module(), [broken]))).toBe(
      true,
    );
  });
});
