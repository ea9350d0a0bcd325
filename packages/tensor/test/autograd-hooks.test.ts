/**
 * @file Hooks of nodes, of leaves and on saved tensors, kept gradients, and what may be assigned to `.grad`.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, ones, tensor, withSavedTensorHooks, zeros } from '../src/index.js';

const leaf = (...values: number[]): Tensor => tensor(values, { requiresGrad: true });

describe('hooks of nodes', () => {
  it('run before and after the node, and may replace gradients', () => {
    const x = leaf(1, 2);
    const y = x.mul(3);
    const seen: unknown[] = [];
    const before = y.gradFn!.registerPrehook(([g]) => {
      seen.push(g!.toArray());
      return [g!.mul(2)];
    });
    const after = y.gradFn!.registerHook((inputs, outputs) => {
      seen.push(inputs[0]!.toArray(), outputs[0]!.toArray());
      return inputs.map((g) => g && g.add(100));
    });
    y.sum().backward(null, { retainGraph: true });
    expect(seen).toEqual([
      [1, 1],
      [6, 6],
      [2, 2],
    ]);
    expect(x.grad!.toArray()).toEqual([106, 106]);
    before.remove();
    after.remove();
    expect(grad(y.sum(), x)[0]!.toArray()).toEqual([3, 3]);
  });

  it('must return as many gradients as there are', () => {
    const y = leaf(1).mul(2);
    y.gradFn!.registerHook(() => []);
    expect(() => y.sum().backward()).toThrow(
      /has returned an incorrect number of values \(got 0, but expected/,
    );
  });

  it('run in order of sequence numbers, later nodes first', () => {
    const x = leaf(1);
    const a = x.mul(2);
    const b = a.exp();
    const c = a.sin();
    const order: string[] = [];
    for (const t of [a, b, c]) t.gradFn!.registerPrehook(() => void order.push(t.gradFn!.name));
    expect(c.gradFn!.sequenceNr).toBeGreaterThan(b.gradFn!.sequenceNr);
    b.add(c).sum().backward();
    expect(order).toEqual(['SinBackward0', 'ExpBackward0', 'MulBackward0']);
  });
});

describe('post-accumulate-grad hooks', () => {
  it('see the leaf once its gradient is complete', () => {
    const w = leaf(1, 2);
    const seen: unknown[] = [];
    const handle = w.registerPostAccumulateGradHook((p) => {
      seen.push(p.grad!.toArray());
      p.grad = null;
    });
    w.mul(w).sum().backward();
    w.mul(2)
      .sum()
      .backward(null, { inputs: [w] });
    expect(seen).toEqual([
      [2, 4],
      [2, 2],
    ]);
    expect(w.grad).toBeNull();
    handle.remove();
    w.sum().backward();
    expect(w.grad!.toArray()).toEqual([1, 1]);
  });

  it('are for leaves that require grad', () => {
    expect(() =>
      leaf(1)
        .mul(2)
        .registerPostAccumulateGradHook(() => undefined),
    ).toThrow(/cannot be registered on non-leaf tensors/);
    expect(() => ones([1]).registerPostAccumulateGradHook(() => undefined)).toThrow(
      /doesn't require gradient/,
    );
  });
});

describe('retainGrad', () => {
  it('says so, does nothing on leaves, and needs a graph', () => {
    const x = leaf(1);
    x.retainGrad();
    const y = x.mul(2);
    expect(y.retainsGrad).toBe(false);
    y.retainGrad();
    expect([x.retainsGrad, y.retainsGrad]).toEqual([false, true]);
    expect(() => ones([1]).retainGrad()).toThrow(/can't retain_grad on Tensor/);
  });
});

describe('hooks on saved tensors', () => {
  it('keep something else and give it back in the same place of the graph', () => {
    const x = tensor([0.5, 2], { dtype: 'float64', requiresGrad: true });
    let packed = 0;
    let unpacked = 0;
    const y = withSavedTensorHooks(
      {
        pack: (t: Tensor) => {
          packed++;
          return t.toTypedArray() as Float64Array;
        },
        unpack: (values) => {
          unpacked++;
          return tensor(values);
        },
      },
      () => x.mul(x).exp(),
    );
    expect([packed, unpacked]).toEqual([3, 0]);
    const [first] = grad(y.sum(), x, { createGraph: true });
    const [second] = grad(first!.sum(), x);
    const at = (v: number): [number, number] => [
      2 * v * Math.exp(v * v),
      (2 + 4 * v * v) * Math.exp(v * v),
    ];
    [0.5, 2].forEach((v, i) => {
      expect(first!.select(0, i).item()).toBeCloseTo(at(v)[0], 10);
      expect(second!.select(0, i).item()).toBeCloseTo(at(v)[1], 10);
    });
    expect(unpacked).toBeGreaterThanOrEqual(3);
  });
});

describe('.grad', () => {
  it('has the layout of its leaf, whatever the formula gives', () => {
    const w = zeros([3, 2]).t().requiresGrad_();
    expect(w.strides).toEqual([1, 2]);
    w.mul(ones([2, 3]))
      .sum()
      .backward();
    expect(w.grad!.strides).toEqual([1, 2]);
    const v = ones([2, 3]).requiresGrad_();
    v.t()
      .mul(
        tensor([
          [1, 2],
          [3, 4],
          [5, 6],
        ]),
      )
      .sum()
      .backward();
    expect(v.grad!.strides).toEqual([3, 1]);
    expect(v.grad!.toArray()).toEqual([
      [1, 3, 5],
      [2, 4, 6],
    ]);
  });

  it('is added to in place, or replaced when the graph is kept differentiable', () => {
    const x = leaf(3);
    x.mul(2).sum().backward();
    const first = x.grad!;
    x.mul(2).sum().backward();
    expect(x.grad).toBe(first);
    x.mul(x).sum().backward(null, { createGraph: true });
    expect(x.grad).not.toBe(first);
    expect(first.toArray()).toEqual([4]);
    expect(grad(x.grad!.sum(), x)[0]!.toArray()).toEqual([2]);
  });

  it('refuses what is no gradient of the tensor', () => {
    const x = leaf(1, 2);
    expect(() => (x.grad = ones([3]))).toThrow(/gradient of size \[3\] to a tensor of size \[2\]/);
    expect(() => (x.grad = ones([2], { dtype: 'float64' }))).toThrow(/dtype 'float64'/);
    expect(() => (x.grad = x)).toThrow(/as its own grad/);
    x.grad = ones([2]);
    x.grad = null;
    expect(x.grad).toBeNull();
  });
});
