/**
 * @file Hooks on saved tensors, inference tensors and anomaly mode, inside and around compiled functions: they see what
 * eager code shows.
 */
import {
  type SavedTensorHooks,
  type Tensor,
  checkpoint,
  detectAnomaly,
  inferenceMode,
  tensor,
  withSavedTensorHooks,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

/** Gradients of four calls. */
function gradients(fn: (x: Tensor) => Tensor): unknown[] {
  return Array.from({ length: 4 }, (_, i) => {
    const x = tensor([1, -2, i], { requiresGrad: true });
    fn(x).sum().backward();
    return x.grad!.toArray();
  });
}

const tripled: SavedTensorHooks<Tensor> = { pack: (t) => t, unpack: (t) => t.mul(3) };

describe('hooks on saved tensors', () => {
  const inside = (x: Tensor): Tensor => {
    const y = x.mul(2);
    const z = withSavedTensorHooks(tripled, () => y.mul(y).sin());
    return z.mul(x);
  };

  it('count in a compiled function', () => {
    expect(gradients(compile(inside))).toEqual(gradients(inside));
  });

  it('with a backward pass inside', () => {
    const fn = (x: Tensor): Tensor => {
      inside(x).sum().backward();
      return x.grad!.clone().detach().requiresGrad_();
    };
    expect(gradients(compile(fn))).toEqual(gradients(fn));
  });

  it('end its graph', () => {
    const { breakReasons } = explain(inside)(tensor([1, 2, 3]));
    expect(breakReasons.map(({ code }) => code)).toEqual(['GB0004']);
    expect(() => compile(inside, { fullgraph: true })(tensor([1]))).toThrow('GB0004');
  });

  it('read what the backward of a compiled function keeps, never tensors without values', () => {
    const fn = compile((x: Tensor) => x.exp().mul(x).sin());
    const around = (x: Tensor): Tensor => {
      const hooks = {
        pack: (t: Tensor) => t.toArray(),
        unpack: (kept: unknown) => tensor(kept as number[]),
      };
      return withSavedTensorHooks(hooks, () => fn(x));
    };
    const [actual, expected] = [
      gradients(around),
      gradients((x) => x.exp().mul(x).sin()),
    ] as number[][][];
    actual!.forEach((row, i) =>
      row.forEach((value, k) => expect(value).toBeCloseTo(expected![i]![k]!, 4)),
    );
  });

  it('are given what the backward of a compiled function keeps, and what they give back counts', () => {
    const fn = compile((x: Tensor) => x.mul(x));
    for (let i = 0; i < 3; i++) {
      const packs: number[][] = [];
      const hooks = {
        pack: (t: Tensor) => (packs.push([...t.sizes]), t),
        unpack: (t: Tensor) => t.mul(3),
      };
      const x = tensor([1, 2], { requiresGrad: true });
      const y = withSavedTensorHooks(hooks, () => fn(x));
      y.sum().backward(null, { retainGraph: true });
      y.sum().backward();
      expect(packs).toEqual([[2]]);
      expect(x.grad!.toArray()).toEqual([12, 24]);
    }
  });

  it('spare what the caller may modify: eager autograd keeps none of it', () => {
    const fn = compile((x: Tensor, y: Tensor) => x.mul(2).add(y));
    const [x, y] = [tensor([1, 2], { requiresGrad: true }), tensor([3, 4])];
    const z = withSavedTensorHooks(tripled, () => fn(x, y));
    y.zero_();
    z.sum().backward();
    expect(x.grad!.toArray()).toEqual([2, 2]);
  });

  it('have a compiled function run again in a checkpointed region', () => {
    const count = (wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor): unknown[] => {
      const seen: unknown[] = [];
      let runs = 0;
      const region = wrap((x) => (runs++, x.mul(x).sin().mul(x)));
      for (let i = 1; i < 4; i++) {
        const x = tensor([0.5, i], { requiresGrad: true });
        const y = checkpoint(region, x);
        const before = runs;
        y.sum().backward();
        seen.push(before, runs, x.grad!.toArray());
      }
      return seen;
    };
    const [actual, expected] = [count(compile), count((fn) => fn)];
    expect(actual.map((value) => (Array.isArray(value) ? 0 : value))).toEqual(
      expected.map((value) => (Array.isArray(value) ? 0 : value)),
    );
    expect(actual.flat()).toEqual(expected.flat().map((v) => expect.closeTo(v as number, 5)));
  });

  it('but a checkpointed region is part of the graph', () => {
    const fn = (x: Tensor): Tensor => checkpoint((t: Tensor) => t.sin().mul(t), x);
    expect(compile(fn, { fullgraph: true })(tensor([1, 2])).toArray()).toHaveLength(2);
  });
});

describe('tensors of inference mode', () => {
  const w = tensor([1, 2], { requiresGrad: true });

  it.each([1, 3])('are refused where backward would keep them, in call %i too', (calls) => {
    const fn = compile((x: Tensor) => x.mul(w).sum());
    for (let i = 1; i < calls; i++) fn(tensor([3, 4])).backward();
    const x = inferenceMode(() => tensor([3, 4]));
    expect(() => fn(x)).toThrow('Inference tensors cannot be saved for backward');
  });

  it('are taken where it does not', () => {
    const fn = compile((x: Tensor) => x.add(w).sum());
    fn(inferenceMode(() => tensor([3, 4]))).backward();
    expect(w.grad).not.toBeNull();
  });
});

describe('anomaly mode', () => {
  const loses = (x: Tensor): Tensor => x.mul(0).sqrt().mul(0).sum();
  const trains = (x: Tensor): Tensor => {
    const loss = loses(x);
    loss.backward();
    return loss.detach();
  };

  it.each<[string, (step: (x: Tensor) => Tensor) => (x: Tensor) => Tensor]>([
    ['inside', (step) => compile((x: Tensor) => detectAnomaly(() => step(x)))],
    [
      'around',
      (step) => {
        const fn = compile(step);
        return (x) => detectAnomaly(() => fn(x));
      },
    ],
  ])('names the operator whose gradient is NaN, %s a compiled function', (_, make) => {
    const fn = make(trains);
    for (let i = 0; i < 3; i++)
      expect(() => fn(tensor([1, 2], { requiresGrad: true }))).toThrow(
        "'SqrtBackward0' returned nan",
      );
  });

  it('is over with its scope', () => {
    const fn = compile(trains);
    expect(() => detectAnomaly(() => fn(tensor([1], { requiresGrad: true })))).toThrow('nan');
    expect(fn(tensor([1], { requiresGrad: true })).item()).toBe(0);
  });
});
