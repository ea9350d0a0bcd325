/**
 * @file Views whose memory is written to after they were made: what they are then is what they are in eager mode.
 */
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const CALLS = [0, 1, 2];

describe.each(['eager', 'aot_eager', 'inductor'])('a view, compiled by %s', (backend) => {
  it('of what was modified and then detached has a history that leads nowhere', () => {
    const fn = (x: Tensor): Tensor => {
      const view = x.view([1, 2]);
      x.clamp_(-1, 1);
      x.detach_();
      return view;
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      for (const run of [fn, compiled]) {
        const leaf = tensor([0.5, 2]).requiresGrad_();
        const view = run(leaf.mul(1));
        expect(view.requiresGrad).toBe(true);
        view.sum().backward();
        expect(leaf.grad).toBeNull();
      }
    }
  });

  it('made inside of what is modified and then detached there has none either', () => {
    const fn = (x: Tensor): Tensor => {
      const y = x.mul(1);
      const view = y.view([1, 2]);
      y.clamp_(-1, 1);
      y.detach_();
      return view;
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      for (const run of [fn, compiled]) {
        const leaf = tensor([0.5, 2]).requiresGrad_();
        const view = run(leaf);
        expect(view.requiresGrad).toBe(true);
        view.sum().backward();
        expect(leaf.grad).toBeNull();
      }
    }
  });

  it('keeps the history of what is modified and stays', () => {
    const fn = (x: Tensor): Tensor => {
      const view = x.view([1, 2]);
      x.clamp_(-1, 1);
      return view;
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      const leaf = tensor([0.5, 2]).requiresGrad_();
      compiled(leaf.mul(1)).sum().backward();
      expect(leaf.grad!.toArray()).toEqual([1, 0]);
    }
  });

  it.each(['returned', 'written to first'])('without gradients, of a leaf: %s', (how) => {
    const fn = (x: Tensor): Tensor => {
      const view = x.unsqueeze(0);
      if (how !== 'returned') view.floorDivide_(view);
      return view;
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      for (const run of [fn, compiled]) {
        const leaf = tensor([[1, 2]]).requiresGrad_();
        // The argument is a view of the leaf.
        expect(noGrad(() => run(leaf.transpose(0, 1))).requiresGrad).toBe(false);
        expect(noGrad(() => run(leaf)).requiresGrad).toBe(false);
        const x = leaf.mul(1);
        expect(noGrad(() => run(x)).requiresGrad).toBe(how !== 'returned');
      }
    }
  });

  it('without gradients, that is kept, takes them where its memory was written to later', () => {
    const kept = new Map<string, Tensor>();
    const fn = (x: Tensor, alias: Tensor): void => {
      noGrad(() => {
        const view = x.slice(0, 0, 1);
        kept.set('view', view);
        view.add(view);
      });
      alias.relu_();
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      for (const run of [fn, compiled]) {
        const leaf = tensor([1, 2]).requiresGrad_();
        const x = leaf.mul(2);
        run(x, x.detach());
        expect(kept.get('view')!.toArray()).toEqual([2]);
        expect(kept.get('view')!.requiresGrad).toBe(true);
        // PyTorch: whether they should flow there is not known.
        expect(() => kept.get('view')!.sum()).toThrow('A view was created in no_grad mode and its');
      }
    }
  });

  it('without gradients, that is kept and looked at after a later write, takes them too', () => {
    const kept: Tensor[] = [];
    const fn = (x: Tensor): void => {
      noGrad(() => {
        const view = x.slice(0, 0, 1);
        kept.push(view);
        view.add(view);
      });
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      for (const run of [fn, compiled]) {
        const x = tensor([1, 2]).requiresGrad_().mul(2);
        run(x);
        noGrad(() => x.add_(1));
        const view = kept.pop()!;
        expect(view.toArray()).toEqual([3]);
        expect(view.requiresGrad).toBe(true);
      }
    }
  });

  it('made without gradients takes those of its base after a write, also one without gradients', () => {
    const fn = (x: Tensor): [Tensor, boolean, boolean] => {
      const view = x.view([2, 1]);
      const before = view.requiresGrad;
      x.add_(x);
      return [view, before, view.requiresGrad];
    };
    const compiled = compile(fn, { backend });
    for (const _ of CALLS) {
      for (const run of [fn, compiled]) {
        const leaf = tensor([1, 2]).requiresGrad_();
        const x = leaf.mul(1);
        const [view, before, after] = noGrad(() => run(x));
        expect([before, after, view.requiresGrad]).toEqual([false, true, true]);
        expect(view.toArray()).toEqual([[2], [4]]);
      }
    }
  });
});
