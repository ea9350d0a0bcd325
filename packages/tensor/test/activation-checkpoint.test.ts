/**
 * @file Activation checkpointing: same gradients, less saved, the same random numbers, errors when the second run differs.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  autocast,
  checkpoint,
  checkpointSequential,
  dropout,
  grad,
  manualSeed,
  noGrad,
  randn,
  tensor,
} from '../src/index.js';
import { checkpointWith } from '../src/internal.js';

function weights(...sizes: number[]): Tensor {
  return randn(sizes, { dtype: 'float64', requiresGrad: true });
}

/** Every object that can be reached from a value. */
function reachable(value: unknown, seen: Set<unknown> = new Set()): Set<unknown> {
  if (typeof value !== 'object' || value === null || seen.has(value) || value instanceof WeakRef)
    return seen;
  seen.add(value);
  const inner = value instanceof Map ? [...value.values()] : Object.values(value);
  for (const item of inner) reachable(item, seen);
  return seen;
}

describe('checkpoint', () => {
  it('gives the same values and gradients, of closures too, and runs the region twice', () => {
    manualSeed(1);
    const [x, w] = [weights(4, 3), weights(3, 3)];
    let runs = 0;
    const block = (input: Tensor): Tensor => {
      runs++;
      return input.matmul(w).tanh().matmul(w).sigmoid();
    };
    const plain = grad(block(x).sum(), [x, w]);
    runs = 0;
    const y = checkpoint(block, x);
    expect(runs).toBe(1);
    const again = grad(y.sum(), [x, w], { retainGraph: true });
    expect(runs).toBe(2);
    again.forEach((g, i) => expect(g.toArray()).toEqual(plain[i]!.toArray()));
    y.sum().backward();
    expect(runs).toBe(3);
    expect(w.grad!.toArray()).toEqual(plain[1]!.toArray());
  });

  it('can be differentiated twice', () => {
    const x = tensor([0.3, -0.7], { dtype: 'float64', requiresGrad: true });
    const second = (fn: (input: Tensor) => Tensor): number[] => {
      const [first] = grad(fn(x).sum(), x, { createGraph: true });
      return grad(first!.mul(first!).sum(), x)[0]!.toArray() as number[];
    };
    const region = (input: Tensor): Tensor => input.mul(input).exp().mul(input);
    const [plain, checkpointed] = [second(region), second((input) => checkpoint(region, input))];
    plain.forEach((value, i) => expect(checkpointed[i]).toBeCloseTo(value, 12));
  });

  it('draws the same random numbers again and leaves the generator where it was', () => {
    const x = weights(64);
    const region = (input: Tensor): Tensor => dropout(input.mul(2), { p: 0.5, training: true });
    manualSeed(7);
    const plain = grad(region(x).sum(), x)[0]!.toArray();
    const next = randn([2]).toArray();
    manualSeed(7);
    expect(grad(checkpoint(region, x).sum(), x)[0]!.toArray()).toEqual(plain);
    expect(randn([2]).toArray()).toEqual(next);
    manualSeed(7);
    const other = grad(checkpointWith({ preserveRngState: false }, region, x).sum(), x)[0]!;
    expect(other.toArray()).not.toEqual(plain);
  });

  it('casts as the first run did', () => {
    const x = randn([4, 4], { requiresGrad: true });
    const w = randn([4, 4], { requiresGrad: true });
    const region = (input: Tensor): Tensor => input.matmul(w).tanh().matmul(w);
    const run = (fn: (input: Tensor) => Tensor): Tensor[] => {
      const y = autocast({ dtype: 'bfloat16' }, () => fn(x));
      return grad(y.to('float32').sum(), [x, w]);
    };
    const plain = run(region);
    run((input) => checkpoint(region, input)).forEach((g, i) =>
      expect(g.toArray()).toEqual(plain[i]!.toArray()),
    );
  });

  it('nests', () => {
    const x = weights(5);
    const inner = (input: Tensor): Tensor => input.sin().exp();
    const outer = (input: Tensor): Tensor => checkpoint(inner, input.mul(input)).tanh();
    const plain = grad(inner(x.mul(x)).tanh().sum(), x)[0]!.toArray();
    expect(grad(checkpoint(outer, x).sum(), x)[0]!.toArray()).toEqual(plain);
  });

  it('keeps nothing of the region but numbers', () => {
    const intermediates: WeakRef<Tensor>[] = [];
    const y = checkpoint((input: Tensor) => {
      const hidden = input.sin();
      intermediates.push(new WeakRef(hidden));
      return hidden.exp().mul(2);
    }, weights(1000));
    const held = [...reachable(y)];
    expect(held.length).toBeGreaterThan(5);
    expect(held).not.toContain(intermediates[0]!.deref());
  });

  it('is an ordinary call where nothing is recorded', () => {
    let runs = 0;
    noGrad(() => checkpoint((a: Tensor) => (runs++, a.exp()), weights(2)));
    expect(runs).toBe(1);
  });

  it('refuses a region that does something else the second time', () => {
    const x = weights(3);
    let runs = 0;
    const shrinking = (input: Tensor): Tensor => (runs++ === 0 ? input.exp().sin() : input.sin());
    expect(() => checkpoint(shrinking, x).sum().backward()).toThrow(
      /A different number of tensors was saved.*docs\/errors\/checkpoint-mismatch/s,
    );
    runs = 0;
    expect(() => checkpoint(shrinking, x).sum().backward()).toThrow(
      expect.objectContaining({ code: 'checkpoint-mismatch' }),
    );
    runs = 0;
    const reshaping = (input: Tensor): Tensor =>
      (runs++ === 0 ? input : input.narrow(0, 0, 2)).exp().sum();
    expect(() => checkpoint(reshaping, x).backward()).toThrow(
      /different metadata than during the forward pass: tensor 0 was float64 \[3\], and is now float64 \[2\]/,
    );
  });
});

describe('checkpointSequential', () => {
  it('runs all but the last segment again', () => {
    const x = weights(4);
    const runs = [0, 0, 0, 0];
    const steps = runs.map((_, i) => (input: Tensor) => {
      runs[i]!++;
      return input.sin().exp();
    });
    const plain = grad(steps.reduce((value, step) => step(value), x).sum(), x)[0]!.toArray();
    runs.fill(0);
    const y = checkpointSequential([steps[0]!, { forward: steps[1]! }, steps[2]!, steps[3]!], 2, x);
    expect(grad(y.sum(), x)[0]!.toArray()).toEqual(plain);
    expect(runs).toEqual([2, 2, 1, 1]);
    expect(() => checkpointSequential(steps, 5, x)).toThrow(/segments must be between 1 and/);
  });
});
