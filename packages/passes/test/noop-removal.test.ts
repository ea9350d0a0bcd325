import { type GraphModule, makeFx } from '@tessera/graph';
import { ones, pad, tensor, type Tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { noopRemoval, removeNoops } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

const ops = (module: GraphModule): string[] =>
  module.graph.nodes
    .filter((node) => node.op === 'call_function' || node.op === 'get_attr')
    .map((node) => node.name);

describe('removeNoops', () => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ['x + -0', (x) => x.add(-0)],
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
    keeps((x) => pad(x, [1, -1]), ones([2]));
  });

  it('keeps what changes the sign of a zero, which integers do not have', () => {
    const removed = (f: (x: Tensor) => Tensor, x: Tensor): number =>
      removeNoops(makeFx((a: Tensor) => f(a.neg()).neg())(x));
    expect(removed((x) => x.add(0), ones([2], { dtype: 'float32' }))).toBe(0);
    expect(removed((x) => x.sub(-0), ones([2], { dtype: 'float32' }))).toBe(0);
    expect(removed((x) => x.add(0), ones([2], { dtype: 'int64' }))).toBe(1);
    expect(removed((x) => x.sub(-0), ones([2], { dtype: 'int64' }))).toBe(1);
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

  it('leads readers to the value itself (by hand)', () => {
    const hand = new Hand();
    const x = hand.call('neg', hand.input('x', [2, 3]));
    const module = hand.output(hand.call('sin', hand.call('mul.Tensor', x, 1)));
    expect(after(module, [noopRemoval], [ones([2, 3])])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */) {
        const neg = aten.neg.default(x); // f32[2, 3]
        const sin = aten.sin.default(neg); // f32[2, 3]
        return sin;
      }
      "
    `);
  });
});
