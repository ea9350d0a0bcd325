/**
 * @file Hooks on the gradients of several tensors; expected values are what PyTorch 2.13 gives.
 */
import { describe, expect, it } from 'vitest';
import { Function, type Tensor, enableGrad, grad, ones, tensor } from '../src/index.js';
import { registerMultiGradHook } from '../src/more.js';

const leaf = (...values: number[]): Tensor => tensor(values, { requiresGrad: true });

/** What hooks were called with. */
function log(): { calls: unknown[]; hook: (grads: readonly (Tensor | null)[]) => void } {
  const calls: unknown[] = [];
  return { calls, hook: (grads) => void calls.push(grads.map((g) => g?.toArray() ?? null)) };
}

describe('registerMultiGradHook', () => {
  it('is called once per pass with the gradients of all tensors that it reaches', () => {
    const [a, b] = [leaf(1, 2), leaf(3, 4)];
    const [c, d] = [a.mul(b), a.mul(b)];
    const { calls, hook } = log();
    const handle = registerMultiGradHook([a, b, c, d], hook);
    c.sum().backward(null, { retainGraph: true });
    c.sum().backward(null, { inputs: [a], retainGraph: true });
    handle.remove();
    c.sum().backward();
    expect(calls).toEqual([
      [[3, 4], [1, 2], [1, 1], null],
      [[3, 4], null, [1, 1], null],
    ]);
  });

  it('does not wait for what grad() does not compute', () => {
    const a = leaf(1, 2);
    const b = a.mul(2);
    const c = b.mul(3);
    const { calls, hook } = log();
    registerMultiGradHook([b, c, b.mul(5)], hook);
    grad(c.sum(), b);
    expect(calls).toEqual([[[3, 3], [1, 1], null]]);
  });

  it('is called when the last gradient is known, before others are', () => {
    const a = leaf(1);
    const b = a.mul(2);
    const c = b.mul(3);
    const order: string[] = [];
    a.registerHook(() => void order.push('a'));
    registerMultiGradHook([c, b], () => void order.push('b and c'));
    c.sum().backward();
    expect(order).toEqual(['b and c', 'a']);
  });

  it('is called for what came where a node passes nothing on', () => {
    class First extends Function {
      static forward(_: unknown, a: Tensor, b: Tensor): Tensor {
        return a.add(b);
      }
      static backward(_: unknown, g: Tensor): [Tensor, null] {
        return [g, null];
      }
    }
    const [a, b] = [leaf(1, 1), leaf(1, 1).mul(2)];
    const { calls, hook } = log();
    registerMultiGradHook([a, b], hook);
    First.apply(a, b).sum().backward();
    const [x, y] = ones([2, 2], { requiresGrad: true }).unbind();
    registerMultiGradHook([x!, y!], hook);
    x!.sum().backward();
    expect(calls).toEqual([
      [[1, 1], null],
      [[1, 1], null],
    ]);
  });

  it('is called for each of two passes, one inside the other', () => {
    const a = leaf(2);
    const b = a.mul(3);
    const inner = leaf(5);
    const { calls, hook } = log();
    registerMultiGradHook([b, a], hook);
    const other = log();
    registerMultiGradHook([inner], other.hook);
    b.registerHook(() => enableGrad(() => inner.mul(7).sum().backward()));
    b.sum().backward();
    expect(calls).toEqual([[[1], [3]]]);
    expect(other.calls).toEqual([[[7]]]);
  });

  it("with mode 'any' is called with the first gradient only, and passes tensors over that take none", () => {
    const [a, b] = [leaf(1, 2), leaf(3, 4)];
    const c = a.mul(b);
    const calls: unknown[] = [];
    const hook = (g: Tensor): void => void calls.push(g.toArray());
    const handle = registerMultiGradHook([a, b, c, ones([1])], hook, { mode: 'any' });
    c.sum().backward(null, { retainGraph: true });
    c.mul(2).sum().backward(null, { retainGraph: true });
    handle.remove();
    c.sum().backward();
    expect(calls).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it('refuses other modes, tensors without gradients and what is no function', () => {
    expect(() => registerMultiGradHook([leaf(1)], () => {}, { mode: 'some' as 'all' })).toThrow(
      "Expects mode to be one of ('all', 'any') but got some",
    );
    expect(() => registerMultiGradHook([ones([1])], () => {})).toThrow(
      "cannot register a hook on a tensor that doesn't require gradient",
    );
    // @ts-expect-error: tensors are a list.
    expect(() => registerMultiGradHook(leaf(1), () => {})).toThrow('takes a list of tensors');
    // @ts-expect-error: no such option.
    expect(() => registerMultiGradHook([leaf(1)], () => {}, { modes: 'any' })).toThrow('modes');
    // @ts-expect-error: a hook is a function.
    expect(() => registerMultiGradHook([leaf(1)], 3)).toThrow(/registerMultiGradHook/);
  });
});
