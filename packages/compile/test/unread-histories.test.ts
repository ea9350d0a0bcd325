/**
 * @file Views that must not be written to and were: compiled code refuses them where eager code would, when
 * their history is read, and nowhere else.
 */
import { type Tensor, noGrad, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const made = (sizes: number[]): Tensor => ones(sizes).requiresGrad_().mul(1);

describe.each(['eager', 'aot_eager', 'inductor'])('%s: histories that nobody reads', (backend) => {
  it('of a view whose base gets another layout', () => {
    const fn = (x: Tensor, y: Tensor): unknown => {
      const diagonal = x.diagonal();
      y.squeeze_();
      x.add_(diagonal);
      return x.tolist();
    };
    const compiled = compile(fn, { backend });
    for (const run of [fn, compiled, compiled]) {
      const x = made([3, 3]);
      expect(noGrad(() => run(x, x.transpose(0, -1)))).toEqual([2, 2, 2].map(() => [2, 2, 2]));
    }
  });

  it('of a view that is written to before a value is read', () => {
    const compiled = compile(
      (x: Tensor): void => {
        const part = x.narrow(0, 0, 3);
        if ((part.add_(3).sum().item() as number) > 7) part.sign();
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const x = made([5]);
      noGrad(() => compiled(x));
      expect(x.toArray()).toEqual([4, 4, 4, 1, 1]);
    }
  });

  it('of a part that only operators without derivatives read', () => {
    const compiled = compile(
      (x: Tensor, w: Tensor): Tensor[] => {
        const part = x.chunk(2, 0)[0]!;
        const turned = x.transpose_(0, -1);
        return [part.logicalNot(), turned.mul(w)];
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const [x, w] = [made([3]), ones([3]).requiresGrad_()];
      const [zero, product] = compiled(x, w);
      product!.sum().backward();
      expect([zero!.toArray(), w.grad!.toArray()]).toEqual([
        [false, false],
        [1, 1, 1],
      ]);
    }
  });

  it('of a part of what was written to without gradients', () => {
    const fn = (x: Tensor): Tensor => {
      const flat = x.view([-1]);
      x.retainGrad();
      flat.clamp_(-1, 1);
      return flat.split(1, 0)[3]!;
    };
    const compiled = compile(fn, { backend });
    for (const run of [fn, compiled, compiled]) {
      const part = noGrad(() => run(ones([2, 3]).requiresGrad_()));
      expect(part.isLeaf).toBe(true);
    }
  });

  it('and refuses those that are read', () => {
    const fn = (x: Tensor): Tensor => {
      const part = noGrad(() => x.narrow(0, 0, 3));
      x.unsqueeze_(0);
      return part.mul(2);
    };
    const compiled = compile(fn, { backend });
    for (const run of [fn, compiled, compiled])
      expect(() => run(made([5]))).toThrow('A view was created in no_grad mode and its base or');
  });

  it('of a view of an argument that was such a view when it was captured', () => {
    const fn = compile(
      (x: Tensor): Tensor[] => {
        const part = x.narrow(0, 0, 1);
        return [x.requiresGrad_(true), part];
      },
      { backend },
    );
    const first = ones([1, 3]);
    fn(noGrad(() => first.narrow(0, 0, 1)));
    noGrad(() => first.zero_());
    const [x, part] = fn(first.detach());
    expect([x!.isLeaf, part!.isLeaf]).toEqual([true, true]);
  });

  it('and an argument that is one only now', () => {
    const fn = (x: Tensor): Tensor => x.view([-1]);
    const compiled = compile(fn, { backend });
    compiled(made([2, 2]));
    for (const run of [fn, compiled]) {
      const base = made([2, 2]);
      const view = run(base.split(1, 0)[1]!);
      base.mul_(2);
      expect(() => view.mul(2)).toThrow(
        'and its base or another view of its base has been modified',
      );
    }
  });
});

it('a value that cannot be computed any more is told, also where it is an input of what is recorded', () => {
  const weight = ones([3]);
  const kept: Tensor[] = [];
  const fn = compile(
    (x: Tensor, more: boolean): Tensor => {
      const scaled = x.mul(weight);
      weight.mul_(2);
      const sum = scaled.sum();
      if ((sum.item() as number) < 0) return x;
      if (more) kept.push(x.mul(2).add(scaled));
      return sum;
    },
    { backend: 'eager' },
  );
  const x = ones([3]);
  fn(x, false);
  const escaped = expect.objectContaining({ code: 'trace-escape' });
  expect(() => fn(x, true)).toThrow(escaped);
  fn(x, true);
  expect(kept.at(-1)!.toArray()).toEqual([6, 6, 6]);
});
