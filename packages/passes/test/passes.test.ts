import { Graph, type GraphModule, type Node, makeFx } from '@tessera/graph';
import { config, counters } from '@tessera/shared';
import { type Tensor, getOp, ones, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  AliasSets,
  type Pass,
  dce,
  foldConstants,
  foldViews,
  jointPasses,
  noopRemoval,
  removeNoops,
  runPasses,
} from '../src/index.js';

const ops = (module: GraphModule): string[] =>
  module.graph.nodes
    .filter((node) => node.op === 'call_function' || node.op === 'get_attr')
    .map((node) => node.name);

describe('removeNoops', () => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ['x + 0', (x) => x.add(0)],
    ['x - 0', (x) => x.sub(0)],
    ['x * 1', (x) => x.mul(1)],
    ['x / 1', (x) => x.div(1)],
    ['clone', (x) => x.clone()],
    ['view to the same shape', (x) => x.view([2, 3])],
    ['expand to the same shape', (x) => x.expand([2, 3])],
    ['permute by the identity', (x) => x.permute([0, -1])],
    ['detach', (x) => x.detach()],
  ])('removes %s', (_, f) => {
    const module = makeFx((x: Tensor) => f(x.neg()).neg())(ones([2, 3]));
    expect(removeNoops(module)).toBe(1);
    module.lint();
    expect(ops(module)).toEqual(['neg', 'neg_1']);
  });

  it('keeps what changes dtype, shape or strides', () => {
    const keeps = (f: (x: Tensor) => Tensor, x: Tensor): void => {
      expect(removeNoops(makeFx((a: Tensor) => f(a).neg())(x))).toBe(0);
    };
    keeps((x) => x.div(1), tensor([1, 2], { dtype: 'int64' }));
    keeps((x) => x.to('float64'), ones([2]));
    keeps((x) => x.add(zeros([3, 2])), ones([2]));
    keeps((x) => x.permute([1, 0]).clone({ memoryFormat: 'contiguous' }), ones([2, 3]));
    keeps((x) => x.add(1), ones([2]));
  });

  it('keeps a copy of an input that is returned, and a view of it', () => {
    expect(removeNoops(makeFx((x: Tensor) => x.clone())(ones([2])))).toBe(0);
    expect(removeNoops(makeFx((x: Tensor) => x.view([2]))(ones([2])))).toBe(0);
    expect(removeNoops(makeFx((x: Tensor) => x.neg().clone())(ones([2])))).toBe(1);
  });

  it('keeps a copy when the original is written later', () => {
    const module = makeFx((x: Tensor) => {
      const before = x.clone();
      x.mul_(2);
      return before.neg();
    })(tensor([1]));
    expect(removeNoops(module)).toBe(0);
  });

  it('keeps one of two returned tensors apart from the other', () => {
    const module = makeFx((x: Tensor) => {
      const y = x.neg();
      return [y, y.clone()];
    })(ones([2]));
    expect(removeNoops(module)).toBe(0);
    const chain = makeFx((x: Tensor) => {
      const y = x.neg();
      const a = y.clone();
      const b = y.clone();
      return [a, b];
    })(ones([2]));
    expect(removeNoops(chain)).toBe(1);
  });
});

describe('foldViews', () => {
  it.each<[string, (x: Tensor) => Tensor, number]>([
    ['t of t', (x) => x.t().t(), 0],
    ['transpose of t', (x) => x.t().transpose(-1, 0), 0],
    ['permute of permute', (x) => x.unsqueeze(0).mul(1).permute([1, 2, 0]).permute([1, 0, 2]), 1],
    ['view of view', (x) => x.mul(1).view([6]).view([3, 2]), 1],
    ['view of view to the same shape', (x) => x.mul(1).view([6]).view([2, 3]), 0],
    [
      'view of a permuted value',
      (x) => x.mul(1).permute([1, 0]).contiguous().view([2, 3]).view([6]),
      1,
    ],
  ])('folds %s', (_, f, left) => {
    const module = makeFx((x: Tensor) => f(x).neg())(ones([2, 3]));
    const example = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const expected = (module.forward(example) as Tensor).toArray();
    expect(foldViews(module)).toBe(1);
    dce.run(module);
    module.lint();
    expect((module.forward(example) as Tensor).toArray()).toEqual(expected);
    const isChain = (node: Node): boolean =>
      typeof node.target === 'object' &&
      ['t', 'permute', 'transpose', 'view'].includes(node.target.schema.name);
    expect(
      module.graph.nodes.filter(
        (node) =>
          isChain(node) &&
          [...node.users.keys()].some((user) => user.op !== 'output' && isChain(user)),
      ).length,
    ).toBe(0);
    expect(module.graph.nodes.filter((node) => isChain(node)).length).toBeGreaterThanOrEqual(left);
  });

  it('keeps views that cannot be one, and what is returned', () => {
    expect(foldViews(makeFx((x: Tensor) => x.t().t())(ones([2, 3])))).toBe(0);
    expect(
      foldViews(makeFx((x: Tensor) => x.t().view([3, 1, 2]).view([3, 2]).neg())(ones([2, 3]))),
    ).toBe(1);
    expect(foldViews(makeFx((x: Tensor) => x.view([6]).t().neg())(ones([2, 3])))).toBe(0);
  });
});

describe('foldConstants', () => {
  it('computes what depends on attributes alone', () => {
    const w = tensor([
      [1, 2],
      [3, 4],
    ]);
    const module = makeFx((x: Tensor) => x.mm(w.permute([1, 0]).mul(2)).add(ones([2, 2])))(
      ones([2, 2]),
    );
    expect(foldConstants(module)).toBe(1);
    dce.run(module);
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 2] */) {
        const _folded1 = self._folded1; // f32[2, 2] strides [1, 2]
        const mm = aten.mm.default(x, _folded1); // f32[2, 2]
        const ones = aten.ones.default([2, 2], null, null, null, null); // f32[2, 2]
        const add = aten.add.Tensor(mm, ones, 1); // f32[2, 2]
        return add;
      }
      "
    `);
    expect(
      (
        module.forward(
          tensor([
            [1, 0],
            [0, 1],
          ]),
        ) as Tensor
      ).toArray(),
    ).toEqual([
      [3, 7],
      [5, 9],
    ]);
    expect(foldConstants(module)).toBe(0);
  });

  it('leaves alone large results, written attributes and attributes that are not constant', () => {
    const w = tensor([1, 2]);
    const trace = (): GraphModule => makeFx((x: Tensor) => x.mul(w.neg()))(ones([2]));
    expect(foldConstants(trace(), { maxElements: 1 })).toBe(0);
    expect(foldConstants(trace(), { isConstant: () => false })).toBe(0);
    const written = makeFx((x: Tensor) => {
      const y = w.neg();
      w.mul_(2);
      return x.mul(y);
    })(ones([2]));
    expect(foldConstants(written)).toBe(0);
  });
});

describe('AliasSets', () => {
  it('follows views, in-place ops and merges', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const v = graph.callFunction(getOp('aten::view'), [x, [-1]]);
    const fresh = graph.callFunction(getOp('aten::neg'), [v]);
    const written = graph.callFunction(getOp('aten::mul_.Tensor'), [fresh, 2]);
    graph.output(v);
    const sets = new AliasSets(graph);
    expect(sets.root(v)).toBe(sets.root(x));
    expect(sets.root(written)).toBe(sets.root(fresh));
    expect(
      [x, fresh].map((node) => [sets.isWritten(node), sets.escapes(node), sets.isExternal(node)]),
    ).toEqual([
      [false, true, true],
      [true, false, false],
    ]);
    sets.merge(fresh, x);
    expect(sets.isWritten(v)).toBe(true);
  });
});

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
