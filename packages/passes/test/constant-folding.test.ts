import { type GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, ones, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { constantFolding, dce, foldConstants } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

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
        const ones = aten.ones.default([2, 2], "float32", null, null, null); // f32[2, 2]
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

  it('leaves what repeats elements: how often may be a size of something else', () => {
    const w = tensor([[1], [2]]);
    const repeated = (x: Tensor): Tensor => x.mul(w.expand([2, x.sizes[1]!]).neg());
    expect(foldConstants(makeFx(repeated)(ones([2, 3])))).toBe(0);
    const module = makeFx((x: Tensor): Tensor => x.mul(w.neg().expand([2, x.sizes[1]!])))(
      ones([2, 3]),
    );
    expect(foldConstants(module)).toBe(1);
    dce.run(module);
    expect(module.print()).toContain('aten.expand.default(_folded');
  });

  it('computes constants (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [2]);
    const w = hand.call('neg', hand.constant('w', tensor([1, 2])));
    const module = hand.output(hand.call('add.Tensor', x, w, 1));
    expect(after(module, [constantFolding()], [randn([2])])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const _folded1 = self._folded1; // f32[2]
        const add = aten.add.Tensor(x, _folded1, 1); // f32[2]
        return add;
      }
      "
    `);
  });

  it('leaves what depends on a symbolic size', () => {
    const w = tensor([1, 2, 3, 4, 5, 6, 7, 8]);
    const module = makeFx((x: Tensor) => x.mul(w.narrow(0, 0, x.shape[0]!)), {
      tracingMode: 'symbolic',
    })(ones([4]));
    expect(foldConstants(module)).toBe(0);
    expect((module.forward(ones([6])) as Tensor).toArray()).toEqual([1, 2, 3, 4, 5, 6]);
  });
});
