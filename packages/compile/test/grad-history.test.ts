/**
 * @file A captured `grad()` whose inputs have history in a later call that they had not when it was captured.
 */
import { type Tensor, grad, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf } from '../src/index.js';

const leaf = (...values: number[]): Tensor => tensor(values, { requiresGrad: true });

/** Arguments of a call, made for each run. */
const CALLS: readonly (() => readonly [Tensor, Tensor])[] = [
  () => [leaf(1, 2), leaf(3, 4)],
  () => {
    const a = leaf(1, 2);
    return [a, a.mul(a)];
  },
  () => [leaf(1, 2).mul(2), leaf(3, 4)],
  () => {
    const a = leaf(1, 2).mul(3);
    return [a, a.sin()];
  },
  () => [leaf(5, 6), leaf(3, 4)],
  () => {
    const b = leaf(3, 4);
    return [b.exp(), b];
  },
];

describe.each(['eager', 'aot_eager', 'inductor'])('grad() inside, with %s', (backend) => {
  it.each<[string, (a: Tensor, b: Tensor) => Tensor]>([
    ['one', (a, b) => grad(a.mul(b).sum(), [a], { retainGraph: true })[0]!],
    [
      'both',
      (a, b) => {
        const [x, y] = grad(a.mul(b).mul(a).sum(), [a, b], { retainGraph: true });
        return x!.sub(y!.mul(2));
      },
    ],
    [
      'a value of its own',
      (a, b) => {
        const c = a.mul(b);
        return grad(c.mul(c).sum(), [c])[0]!;
      },
    ],
  ])('by %s goes through the history of later calls', (_, fn) => {
    const compiled = compile(fn, { backend });
    for (let round = 0; round < 2; round++)
      for (const make of CALLS) {
        const expected = fn(...make()).toArray();
        expect(compiled(...make()).toArray()).toEqual(expected);
      }
    const { length } = compiledFunctionOf(compiled).captures;
    for (const make of CALLS) compiled(...make());
    expect(compiledFunctionOf(compiled).captures).toHaveLength(length);
  });
});

describe.each(['eager', 'aot_eager', 'inductor'])(
  'an input that no result depends on, with %s',
  (backend) => {
    it('does not lead grad() through the history of what is updated again', () => {
      const w = tensor([0, 0]).view([2]);
      const unused = leaf(1);
      const fn = compile(
        (x: Tensor) => {
          unused.zerosLike();
          return w.add_(x);
        },
        { backend },
      );
      fn(leaf(1, 2)).sum().backward();
      for (let i = 0; i < 3; i++) {
        const x = leaf(1, 2);
        const [gx, none] = grad([fn(x).sum()], [x, unused], { allowUnused: true });
        expect(gx!.toArray()).toEqual([1, 1]);
        expect(none).toBeNull();
      }
    });

    it('calls no hook on the way to it', () => {
      const w = leaf(0.5, 2).mul(1);
      let seen = 0;
      const fn = compile(
        (x: Tensor) => {
          x.slice(0, 0, null, 2);
          const y = w.clamp_(-1, 1);
          y.registerHook(() => void seen++);
          return y;
        },
        { backend },
      );
      for (let i = 0; i < 3; i++) {
        const x = leaf(1, 2);
        expect(grad([fn(x).sum()], [x], { allowUnused: true })).toEqual([null]);
      }
      expect(seen).toBe(0);
    });
  },
);

describe.each(['eager', 'aot_eager', 'inductor'])(
  'results that have nothing in common, with %s',
  (backend) => {
    it('are apart in the history of what is updated again', () => {
      const [v, w] = [leaf(3, 4), leaf(1, 2).mul(1)];
      const fn = compile(
        () => {
          v.norm();
          return w.mul_(0.5);
        },
        { backend },
      );
      fn();
      expect(grad([fn().sum()], [v], { allowUnused: true })).toEqual([null]);
      expect(() => fn().sum().backward()).not.toThrow();
    });

    it('have only those hooks called that lead to what grad() asks for', () => {
      const w = leaf(1, 2).mul(1);
      let seen = 0;
      const fn = compile(
        (x: Tensor) => {
          w.mul_(0.5).registerHook(() => void seen++);
          return x.sin();
        },
        { backend },
      );
      for (let i = 0; i < 3; i++) {
        const x = leaf(1, 2);
        const [gx] = grad([fn(x).sum().add(w.sum())], [x]);
        expect(gx!.toArray()).toEqual(x.cos().toArray());
      }
      expect(seen).toBe(0);
    });
  },
);

describe.each(['eager', 'aot_eager', 'inductor'])('a view under noGrad, with %s', (backend) => {
  it('that is made a leaf after its base was written to stays one', () => {
    const fn = (a: Tensor): Tensor => {
      a.squeeze_();
      return a.slice(0, 0, null, 1).requiresGrad_();
    };
    const compiled = compile(fn, { backend });
    for (const call of [fn, compiled, compiled, compiled]) {
      const view = noGrad(() => call(tensor([[1], [2]], { requiresGrad: true })));
      expect([view.requiresGrad, view.isLeaf, view.sizes]).toEqual([true, true, [2]]);
    }
  });
});
