import { Graph, GraphModule, type Node, makeFx, tensorVal } from '@tessera/graph';
import { type Tensor, getOp, ones, tensor } from '@tessera/tensor';
import { defineOp } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { fxGraphCse } from '../src/index.js';

const mul = getOp('aten::mul.Tensor');
const neg = getOp('aten::neg');
const sum = getOp('aten::sum.dim_IntList');
const mulInPlace = getOp('aten::mul_.Tensor');
const view = getOp('aten::view');

function moduleOf(build: (graph: Graph, x: Node) => unknown): GraphModule {
  const graph = new Graph();
  const x = graph.placeholder('x');
  graph.output(build(graph, x) as Node);
  return new GraphModule([], graph);
}

/** Runs CSE; checks the graph and that a second run changes nothing; returns what the first removed. */
function removedFrom(module: GraphModule): number {
  const removed = fxGraphCse(module);
  module.lint();
  expect(fxGraphCse(module)).toBe(0);
  return removed;
}

describe('fxGraphCse', () => {
  it('merges the same op on the same values, transitively', () => {
    const module = makeFx((x: Tensor) => x.neg().mul(2).add(x.neg().mul(2)))(ones([2]));
    expect(removedFrom(module)).toBe(2);
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const neg = aten.neg.default(x); // f32[2]
        const mul = aten.mul.Tensor(neg, 2); // f32[2]
        const add = aten.add.Tensor(mul, mul, 1); // f32[2]
        return add;
      }
      "
    `);
    expect((module.forward(tensor([1, 3])) as Tensor).toArray()).toEqual([-4, -12]);
  });

  it.each<[string, unknown, unknown, number]>([
    ['equal numbers', 2, 2, 1],
    ['different numbers', 2, 3, 0],
    ['0 and -0', 0, -0, 0],
    ['NaN and NaN', NaN, NaN, 1],
    ['1 and true', 1, true, 0],
  ])('compares numbers exactly: %s', (_, a, b, expected) => {
    const module = moduleOf((g, x) => {
      const left = g.callFunction(mul, [x, a as number]);
      const right = g.callFunction(mul, [x, b as number]);
      return g.callFunction(mul, [left, right]);
    });
    expect(removedFrom(module)).toBe(expected);
  });

  it('compares nested lists element by element', () => {
    const build = (left: number[], right: number[]): GraphModule =>
      moduleOf((g, x) => {
        const a = g.callFunction(sum, [x, left, false, null]);
        const b = g.callFunction(sum, [x, right, false, null]);
        return g.callFunction(mul, [a, b]);
      });
    expect(removedFrom(build([0, 1], [0, 1]))).toBe(1);
    expect(removedFrom(build([0, 1], [1, 0]))).toBe(0);
    expect(removedFrom(build([0], [0, 1]))).toBe(0);
  });

  it('keeps results apart that differ in dtype though their arguments look the same', () => {
    const module = makeFx((x: Tensor) => {
      const a = x.neg();
      const b = x.neg();
      return a.mul(b);
    })(ones([2]));
    const [, , b] = module.graph.nodes;
    b.meta.val = tensor([1, 1], { dtype: 'float64' });
    expect(fxGraphCse(module)).toBe(0);
  });

  it('does not merge values of which one is written later', () => {
    const module = moduleOf((g, x) => {
      const a = g.callFunction(neg, [x]);
      const b = g.callFunction(neg, [x]);
      const written = g.callFunction(mulInPlace, [a, 5]);
      return g.callFunction(mul, [written, b]);
    });
    expect(removedFrom(module)).toBe(0);
    expect((module.forward(tensor([2])) as Tensor).toArray()).toEqual([20]);
  });

  it('does not merge across a write to the input, through a view too', () => {
    const module = moduleOf((g, x) => {
      const before = g.callFunction(neg, [x]);
      const flat = g.callFunction(view, [x, [-1]]);
      g.callFunction(mulInPlace, [flat, 5]);
      const after = g.callFunction(neg, [x]);
      const again = g.callFunction(neg, [x]);
      return g.callFunction(mul, [before, g.callFunction(mul, [after, again])]);
    });
    expect(removedFrom(module)).toBe(1);
    expect((module.forward(tensor([[2]])) as Tensor).toArray()).toEqual([[-200]]);
  });

  it('never merges random ops or uninitialised memory', () => {
    const meta = ({ self }: { self: Tensor }): Tensor => self;
    const draw = defineOp('test::draw(Tensor self) -> Tensor', {
      tags: ['random'],
      meta: meta as never,
    });
    const blank = defineOp('test::blank(Tensor self) -> Tensor', {
      tags: ['uninitialized'],
      meta: meta as never,
    });
    for (const op of [draw, blank]) {
      const module = moduleOf((g, x) =>
        g.callFunction(mul, [g.callFunction(op, [x]), g.callFunction(op, [x])]),
      );
      expect(removedFrom(module)).toBe(0);
    }
  });

  it('merges views of a value that is written in the end', () => {
    const module = moduleOf((g, x) => {
      const a = g.callFunction(view, [x, [-1]]);
      const b = g.callFunction(view, [x, [-1]]);
      const product = g.callFunction(mul, [a, b]);
      g.callFunction(mulInPlace, [x, 0]);
      return product;
    });
    expect(removedFrom(module)).toBe(1);
  });

  it('does not make two returned tensors one', () => {
    const module = moduleOf((g, x) => [g.callFunction(neg, [x]), g.callFunction(neg, [x])]);
    expect(removedFrom(module)).toBe(0);
    const viewed = moduleOf((g, x) => [
      g.callFunction(view, [g.callFunction(neg, [x]), [-1]]),
      g.callFunction(neg, [x]),
    ]);
    expect(removedFrom(viewed)).toBe(0);
  });

  it('does not make two returned tensors one by way of a third', () => {
    const module = moduleOf((g, x) => {
      g.callFunction(mul, [g.callFunction(neg, [x]), 2]);
      return [g.callFunction(neg, [x]), g.callFunction(neg, [x])];
    });
    expect(removedFrom(module)).toBe(1);
    const [a, b] = module.forward(ones([2])) as [Tensor, Tensor];
    expect(a.storage).not.toBe(b.storage);
  });

  it('merges a returned value with one used inside', () => {
    const module = moduleOf((g, x) => [
      g.callFunction(neg, [x]),
      g.callFunction(mul, [g.callFunction(neg, [x]), 2]),
    ]);
    expect(removedFrom(module)).toBe(1);
  });

  it('lets the vals of views follow the value that stays', () => {
    const module = makeFx((x: Tensor) => {
      const a = x.neg();
      const b = x.neg().permute([1, 0]);
      return a.mm(b);
    })(ones([2, 3]));
    expect(removedFrom(module)).toBe(1);
    const [, kept, permuted] = module.graph.nodes;
    expect(tensorVal(permuted)?.storage).toBe(tensorVal(kept)?.storage);
  });

  it('takes 10,000 nodes', () => {
    const module = moduleOf((g, x) => {
      let y: Node = x;
      for (let i = 0; i < 5000; i++) y = g.callFunction(mul, [g.callFunction(neg, [x]), y]);
      return y;
    });
    const start = performance.now();
    expect(fxGraphCse(module)).toBe(4999);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
