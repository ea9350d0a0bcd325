/**
 * @file Gradients that do not have the shape of what they are gradients of.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, noGrad, ones, tensor } from '../src/index.js';

const leaf = (): Tensor => tensor([[1, 2, 3]]).requiresGrad_();

describe('a tensor laid out anew without recording', () => {
  it('has no gradient where its shape does not fit its history', () => {
    const x = leaf();
    const y = x.mul(2);
    noGrad(() => y.transpose_(0, 1));
    expect(() => y.sum().backward()).toThrow(
      'Function SumBackward0 returned an invalid gradient at index 0 - got [3, 1] but expected shape compatible with [1, 3]',
    );
    expect(() => y.exp().sum().backward()).toThrow('Function ExpBackward0 returned an invalid');
    expect(() => grad(y.sum(), [y])).toThrow('Function SumBackward0 returned an invalid');
    expect(x.grad).toBeNull();
  });

  it('has none as a root either', () => {
    const y = leaf().mul(2);
    noGrad(() => y.transpose_(0, 1));
    expect(() => y.backward(ones([3, 1]))).toThrow(
      /^invalid gradient at index 0 - got \[3, 1\] but expected shape compatible with \[1, 3\]/,
    );
  });

  it('has one that is summed where the history broadcasts', () => {
    const x = leaf();
    const y = x.mul(2);
    noGrad(() => y.unsqueeze_(0));
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([[2, 2, 2]]);
  });

  it('has one in its shape if it is a leaf', () => {
    const x = leaf();
    x.mul(2).sum().backward();
    x.grad = null;
    noGrad(() => x.transpose_(0, 1));
    x.mul(3).sum().backward();
    expect(x.grad!.toArray()).toEqual([[3], [3], [3]]);
  });
});

describe('a hook on a gradient', () => {
  it('may not change its shape or its dtype', () => {
    const y = leaf().mul(2);
    const handle = y.registerHook(function flat() {
      return ones([3]);
    });
    expect(() => y.sum().backward(null, { retainGraph: true })).toThrow(
      "hook 'flat' has changed the size of value",
    );
    handle.remove();
    y.registerHook(function precise(slope) {
      return slope.to('float64');
    });
    expect(() => y.sum().backward()).toThrow(
      "hook 'precise' has changed the type of value (was float32 got float64)",
    );
  });
});

describe('a gradient that is no tensor', () => {
  it('is refused, with a word on where options go', () => {
    const loss = leaf().sum();
    expect(() => loss.backward({ retainGraph: true } as never)).toThrow(
      /backward\(\): gradients are tensors, not \{ retainGraph \}[^]*backward\(null, \{ retainGraph: true \}\)/,
    );
    expect(() => loss.backward(2 as never)).toThrow(/gradients are tensors, not 2/);
    expect(() => grad(loss, [loss], { gradOutputs: [3 as never] })).toThrow(
      /grad\(\): gradients are tensors, not 3/,
    );
  });
});
