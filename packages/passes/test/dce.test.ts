import { type Node, makeFx } from '@tessera/graph';
import { type Tensor, ones, rand } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { dce } from '../src/index.js';
import { Hand } from './graph-tools.js';

describe('dce', () => {
  it('removes what nobody reads, last first, and constants that are left over (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [2]);
    const unused = hand.call('mul.Tensor', x, hand.constant('scale', ones([2])));
    hand.call('neg', unused);
    const module = hand.output([hand.call('sin', x)]);
    expect(dce.run(module)).toBe(true);
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const sin = aten.sin.default(x); // f32[2]
        return [sin];
      }
      "
    `);
    expect([...module.attributes.keys()]).toEqual([]);
    expect(dce.run(module)).toBe(false);
  });

  it('keeps inputs, writes and draws of random numbers, which others can see (traced)', () => {
    const module = makeFx((x: Tensor, _y: Tensor) => {
      const sum = x.neg().sin();
      x.narrow(0, 0, 1).mul_(2);
      return [x.add(1), sum, rand([2])];
    })(ones([2]), ones([2]));
    const output = module.graph.outputNode!;
    output.args = [(output.args[0] as readonly Node[]).slice(0, 1)];
    expect(dce.run(module)).toBe(true);
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */, _y: Tensor /* f32[2] */) {
        const slice = aten.slice.Tensor(x, 0, 0, 1, 1); // f32[1]
        const mul_ = aten.mul_.Tensor(slice, 2); // f32[1]
        const add = aten.add.Tensor(x, 1, 1); // f32[2]
        const rand = aten.rand.default([2], "float32", null, null, null); // f32[2]
        return [add];
      }
      "
    `);
  });
});
