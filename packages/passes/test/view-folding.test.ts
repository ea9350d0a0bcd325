import { type Node, makeFx } from '@tessera/graph';
import { type Tensor, ones, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { dce, foldViews, viewFolding } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

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

  it('makes one permutation of two (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [2, 3, 4]);
    const moved = hand.call('permute', hand.call('permute', x, [1, 2, 0]), [1, 0, 2]);
    const module = hand.output(hand.call('sin', moved));
    expect(after(module, [viewFolding], [randn([2, 3, 4])])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3, 4] */) {
        const permute_2 = aten.permute.default(x, [2, 1, 0]); // f32[4, 3, 2] strides [1, 4, 12]
        const sin = aten.sin.default(permute_2); // f32[4, 3, 2] strides [1, 4, 12]
        return sin;
      }
      "
    `);
  });
});
