import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  detectAnomaly,
  enableGrad,
  grad,
  inferenceMode,
  isAnomalyEnabled,
  isGradEnabled,
  noGrad,
  ones,
  randn,
  relu,
  setDetectAnomaly,
  setGradEnabled,
  tensor,
  zeros,
} from '../src/index.js';

describe('backward', () => {
  it('accumulates over calls and over uses', () => {
    const x = tensor([2], { requiresGrad: true });
    x.mul(x).add(x).backward();
    expect(x.grad!.item()).toBe(5);
    x.mul(3).backward();
    expect(x.grad!.item()).toBe(8);
  });

  it('sums gradients of broadcast operands and casts them to the dtype of the input', () => {
    const a = ones([3], { requiresGrad: true });
    const b = ones([2, 1], { dtype: 'float64', requiresGrad: true });
    a.mul(b).sum().backward();
    expect(a.grad!.toArray()).toEqual([2, 2, 2]);
    expect(a.grad!.dtype).toBe('float32');
    expect(b.grad!.toArray()).toEqual([[3], [3]]);
    expect(b.grad!.dtype).toBe('float64');
  });

  it('walks graphs of ten thousand nodes', () => {
    const x = tensor([1], { requiresGrad: true, dtype: 'float64' });
    let y: Tensor = x;
    for (let i = 0; i < 10_000; i++) y = y.add(x, { alpha: 1e-4 });
    y.backward();
    expect(x.grad!.item()).toBeCloseTo(2, 6);
  });

  it('frees the graph unless told to retain it', () => {
    const x = tensor([3], { requiresGrad: true });
    const y = x.mul(x);
    y.backward(null, { retainGraph: true });
    y.backward();
    expect(x.grad!.item()).toBe(12);
    expect(() => y.backward()).toThrow(/backward through the graph a second time/);
  });

  it('runs nodes that keep no tensors as often as one likes', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const y = x.add(1);
    y.sum().backward();
    y.mean().backward();
    expect(x.grad!.toArray()).toEqual([1.5, 1.5]);
    // A number that is multiplied with is kept as a tensor, and CopySlices goes as a whole.
    const z = x.mul(2);
    z.sum().backward();
    expect(() => z.sum().backward()).toThrow(/backward-twice/);
    const w = x.add(0);
    w.select(0, 0).add_(1);
    w.sum().backward();
    expect(() => w.sum().backward()).toThrow(/backward-twice/);
  });

  it('gives integers no history that were copied from a tensor with gradients', () => {
    const x = tensor([1.5, 2], { requiresGrad: true });
    const y = zeros([2], { dtype: 'int64' });
    y.copy_(x);
    expect([y.requiresGrad, y.view([2, 1]).requiresGrad]).toEqual([false, false]);
  });

  it('reduces a gradient to the shape that a result had before its layout changed unrecorded', () => {
    const x = ones([4, 1], { requiresGrad: true });
    const y = x.sum([1]);
    noGrad(() => y.unsqueeze_(0));
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([[1], [1], [1], [1]]);
  });

  it('refuses to modify a view in place whose base was detached', () => {
    const y = tensor([1, 2], { requiresGrad: true }).exp();
    const view = y.unsqueeze(0);
    y.detach_();
    expect(() => view.zero_()).toThrow(/a view of a leaf Variable that requires grad/);
  });

  it('restricts accumulation to the inputs given', () => {
    const a = tensor([1], { requiresGrad: true });
    const b = tensor([2], { requiresGrad: true });
    a.mul(b).backward(null, { inputs: [b] });
    expect(a.grad).toBeNull();
    expect(b.grad!.item()).toBe(1);
  });

  it('says what is wrong with its start', () => {
    expect(() => ones([2], { requiresGrad: true }).mul(2).backward()).toThrow(
      /grad can be implicitly created only for scalar outputs/,
    );
    expect(() => ones([]).backward()).toThrow(/does not require grad/);
    expect(() =>
      ones([2], { requiresGrad: true })
        .mul(2)
        .backward(ones([3])),
    ).toThrow(/Mismatch in shape/);
    expect(() => zeros([2], { dtype: 'int64', requiresGrad: true })).toThrow(
      /only Tensors of floating point dtype/,
    );
  });

  it('passes no gradient through comparisons, indices and rounding', () => {
    const x = tensor([0.2, 1.7], { requiresGrad: true });
    expect(x.gt(1).requiresGrad).toBe(false);
    expect(x.argmax().requiresGrad).toBe(false);
    x.round().sum().backward();
    expect(x.grad!.toArray()).toEqual([0, 0]);
  });
});

describe('version counters', () => {
  it('catch a saved tensor that was modified', () => {
    const x = ones([2], { requiresGrad: true });
    const y = x.mul(2);
    const loss = y.mul(y).sum();
    y.add_(1);
    expect(() => loss.backward()).toThrow(
      /modified by an inplace operation: \[Float \[2\]\].* is at version 1; expected version 0/,
    );
  });

  it('catch a write through a view', () => {
    const w = ones([2, 2]);
    const x = ones([2, 2], { requiresGrad: true });
    const loss = x.mul(w).sum();
    w.select(0, 0).fill_(7);
    expect(() => loss.backward()).toThrow(/inplace-version/);
  });

  it('do not mind writes to values that the gradient does not read', () => {
    const x = ones([2], { requiresGrad: true });
    const y = x.add(1);
    const loss = y.mul(3).sum();
    y.mul_(2);
    loss.backward();
    expect(x.grad!.toArray()).toEqual([3, 3]);
  });

  it('allow relu_ after an op that saved only its input', () => {
    const x = tensor([-1, 2], { requiresGrad: true });
    const y = x.mul(2);
    y.relu_();
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([0, 2]);
  });
});

describe('hooks', () => {
  it('see and replace gradients of leaves and intermediates', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const seen: unknown[] = [];
    const y = x.mul(3);
    y.registerHook((g) => {
      seen.push(g.toArray());
    });
    const handle = x.registerHook((g) => g.mul(10));
    y.sum().backward();
    expect(seen).toEqual([[1, 1]]);
    expect(x.grad!.toArray()).toEqual([30, 30]);
    handle.remove();
    x.grad = null;
    x.mul(3).sum().backward();
    expect(x.grad!.toArray()).toEqual([3, 3]);
  });

  it('keep the gradient of an intermediate that asks for it', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const y = x.mul(2);
    y.retainGrad();
    y.mul(y).sum().backward();
    expect(y.grad!.toArray()).toEqual([4, 8]);
  });

  it('refuse tensors without gradients', () => {
    expect(() => ones([1]).registerHook(() => undefined)).toThrow(/doesn't require gradient/);
  });
});

describe('grad', () => {
  it('returns gradients without touching .grad', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const w = tensor([3, 4], { requiresGrad: true });
    const [gx, gw] = grad(x.mul(w).sum(), [x, w]);
    expect(gx!.toArray()).toEqual([3, 4]);
    expect(gw!.toArray()).toEqual([1, 2]);
    expect(x.grad).toBeNull();
  });

  it('takes gradients with respect to intermediates', () => {
    const x = tensor([2], { requiresGrad: true });
    const y = x.mul(x);
    const [gy] = grad(y.mul(5), y);
    expect(gy!.item()).toBe(5);
  });

  it('takes seeds, several outputs, and reports unused inputs', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const other = tensor([1], { requiresGrad: true });
    const [g] = grad([x.mul(2), x.mul(x).sum()], x, { gradOutputs: [tensor([1, 10]), null] });
    expect(g!.toArray()).toEqual([4, 24]);
    expect(() => grad(x.sum(), [x, other])).toThrow(/appears to not have been used in the graph/);
    expect(grad(x.sum(), [x, other], { allowUnused: true })[1]).toBeNull();
    expect(() => grad(x.sum(), [ones([1])])).toThrow(/does not require grad/);
    expect(() => grad([x.sum()], x, { gradOutputs: [null, null] })).toThrow(
      /got 2 gradOutputs for 1 outputs/,
    );
  });

  it('differentiates twice and three times with createGraph', () => {
    const x = tensor([2], { requiresGrad: true, dtype: 'float64' });
    const [first] = grad(x.pow(4), x, { createGraph: true });
    const [second] = grad(first!, x, { createGraph: true });
    const [third] = grad(second!, x);
    expect([first!.item(), second!.item(), third!.item()]).toEqual([32, 48, 48]);
  });
});

describe('grad mode', () => {
  it('gives a view no history without it, however often the base was modified before', () => {
    const leaf = ones([3]).requiresGrad_();
    const base = leaf.mul(1);
    const view = noGrad(() => base.mul_(2).narrow(0, 1, 2));
    expect(view.gradFn).toBeNull();
    view
      .mul(leaf.narrow(0, 0, 2))
      .sum()
      .backward();
    expect(leaf.grad!.toArray()).toEqual([2, 2, 0]);
  });

  it('nests and comes back after errors and promises', async () => {
    noGrad(() => {
      expect(isGradEnabled()).toBe(false);
      enableGrad(() => expect(isGradEnabled()).toBe(true));
    });
    expect(() =>
      noGrad(() => {
        throw new Error('x');
      }),
    ).toThrow('x');
    expect(isGradEnabled()).toBe(true);
    await noGrad(async () => {
      await Promise.resolve();
      expect(isGradEnabled()).toBe(false);
    });
    expect(isGradEnabled()).toBe(true);
    setGradEnabled(false);
    expect(ones([1], { requiresGrad: true }).mul(2).requiresGrad).toBe(false);
    setGradEnabled(true);
    expect(inferenceMode(() => ones([1], { requiresGrad: true }).mul(2)).requiresGrad).toBe(false);
  });
});

describe('anomaly mode', () => {
  function brokenSquareRoot(x: Tensor): Tensor {
    return x.sqrt().sum();
  }

  it('names the backward node that made a NaN and the forward call', () => {
    detectAnomaly(() => {
      const x = tensor([-1], { requiresGrad: true });
      const loss = brokenSquareRoot(x);
      expect(() => loss.backward()).toThrow(
        /Function 'SqrtBackward0' returned nan values in its 0th output/,
      );
      expect(() => brokenSquareRoot(x).backward()).toThrow(
        /Traceback of forward call that caused the error:\n(?:.*\n)*.*brokenSquareRoot.*autograd\.test/,
      );
    });
    expect(isAnomalyEnabled()).toBe(false);
  });

  it('lets NaN pass if told to', () => {
    setDetectAnomaly(true, { checkNaN: false });
    try {
      const x = tensor([-1], { requiresGrad: true });
      brokenSquareRoot(x).backward();
      expect(x.grad!.item()).toBeNaN();
    } finally {
      setDetectAnomaly(false);
    }
  });

  it('shows the forward call of a node that fails otherwise', () => {
    detectAnomaly(() => {
      const y = ones([2], { requiresGrad: true }).exp();
      y.add_(1);
      expect(() => y.sum().backward()).toThrow(
        /modified by an inplace operation: \[Float \[2\]\], which is output 0 of ExpBackward0, is at version 1.*Error detected in ExpBackward0.*Traceback of forward call/s,
      );
    });
  });

  it('notes which backward node made a node', () => {
    detectAnomaly(() => {
      const y = tensor([2], { requiresGrad: true });
      const [slope] = grad(y.exp().sum(), y, { createGraph: true });
      expect(slope!.gradFn!.anomalyParent!.name).toBe('ExpBackward0');
    });
  });

  it('needs the forward pass too', () => {
    const y = tensor([-1], { requiresGrad: true }).sqrt();
    detectAnomaly(() =>
      expect(() => y.sum().backward()).toThrow(/No forward pass information available/),
    );
  });
});

it('a relu of random values has the gradient of its mask', () => {
  const x = randn([50], { requiresGrad: true });
  relu(x).sum().backward();
  expect(x.grad!.toArray()).toEqual(x.detach().gt(0).to('float32').toArray());
});
