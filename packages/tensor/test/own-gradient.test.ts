/**
 * @file Memory that only the library can hold goes at once: gradients that a leaf drops, and what a backward pass
 * made on the way. What the program was given stays.
 */
import { describe, expect, it } from 'vitest';
import {
  Function,
  type FunctionContext,
  type Tensor,
  grad,
  library,
  liveStorageBytes,
  ones,
  tensor,
  zeros,
} from '../src/index.js';
import { dropGradient, gradientOf, setOwnGradient, zeroGradient } from '../src/internal.js';

/** Bytes that `fn` leaves live; nothing is collected meanwhile. */
function growth(fn: () => unknown): number {
  const before = liveStorageBytes();
  fn();
  return liveStorageBytes() - before;
}

const leaf = (): Tensor => ones([100], { requiresGrad: true });
const BYTES = 400;

describe('a backward pass', () => {
  it('leaves the gradients of leaves, and nothing of what it made on the way', () => {
    const [a, b] = [leaf(), leaf()];
    const loss = a.mul(2).exp().mul(b).sin().sum();
    expect(growth(() => loss.backward())).toBe(2 * BYTES);
    expect(gradientOf(a)!.toArray()).toEqual(gradientOf(b)!.mul(2).toArray());
  });

  it('leaves what grad() returns', () => {
    const a = leaf();
    const loss = a.mul(2).exp().sum();
    let result: Tensor | null = null;
    expect(growth(() => ([result] = grad(loss, [a])))).toBe(BYTES);
    expect((result as Tensor | null)!.select(0, 0).item()).toBeCloseTo(2 * Math.E ** 2, 4);
  });

  it('leaves what hooks and custom functions were given', () => {
    const seen: Tensor[] = [];
    class Watch extends Function {
      static forward(_ctx: FunctionContext, x: Tensor): Tensor {
        return x.mul(2);
      }
      static backward(_ctx: FunctionContext, g: Tensor): Tensor {
        seen.push(g);
        return g.mul(2);
      }
    }
    const a = leaf();
    const middle = a.exp();
    middle.registerHook((g) => void seen.push(g));
    const watched = Watch.apply(middle.mul(3)) as Tensor;
    watched.gradFn!.registerHook(
      (made, given) => void seen.push(...(made as Tensor[]), ...(given as Tensor[])),
    );
    watched.gradFn!.registerPrehook((given) => void seen.push(...(given as Tensor[])));
    watched.mul(5).sum().backward();
    expect(seen.map((g) => (g.toArray() as number[])[0])).toEqual([5, 5, 10, 5, 30]);
  });

  it('leaves what kernels of custom operators and hooks on saved tensors keep', () => {
    const seen: Tensor[] = [];
    const scale: (x: Tensor) => Tensor = library('owntest')
      .define('scale(Tensor self) -> Tensor')
      .impl('scale', 'cpu', (x: Tensor) => {
        seen.push(x);
        const out = x.mul(3);
        seen.push(out);
        return out.clone();
      })
      .impl('scale', 'meta', (x: Tensor) => x.emptyLike())
      .autograd('scale', {
        vjp: (_args, { grad: g }): { self: Tensor } => ({ self: scale(g.mul(1)) }),
      })
      .fn<(x: Tensor) => Tensor>('scale');
    const a = leaf();
    scale(a.mul(2)).sum().backward();
    expect(seen.map((x) => (x.toArray() as number[])[0])).toEqual([2, 6, 1, 3]);
    expect(a.grad!.select(0, 0).item()).toBe(6);
  });

  it('leaves what a hook computes with operators', () => {
    const kept: Tensor[] = [];
    const a = leaf();
    const middle = a.mul(2);
    middle.registerHook((g) => {
      kept.push(g.add(1));
      return g.mul(2);
    });
    middle.sum().backward();
    expect(kept[0]!.select(0, 0).item()).toBe(2);
    expect(a.grad!.select(0, 0).item()).toBe(4);
  });
});

describe('a gradient that a leaf drops', () => {
  const trained = (): Tensor => {
    const a = leaf();
    a.mul(2).sum().backward();
    return a;
  };

  it('is released if the program never got it', () => {
    for (const drop of [dropGradient, (a: Tensor) => void (a.grad = null)]) {
      const a = trained();
      expect(growth(() => drop(a))).toBe(-BYTES);
      expect(a.grad).toBe(null);
    }
    const replaced = trained();
    const own = zeros([100]);
    expect(growth(() => (replaced.grad = own))).toBe(-BYTES);
    expect(growth(() => dropGradient(replaced))).toBe(0);
    expect(own.sum().item()).toBe(0);
  });

  it('is released after further passes added to it, and after it was set to zero', () => {
    const a = trained();
    a.mul(3).sum().backward();
    zeroGradient(a);
    expect(gradientOf(a)!.sum().item()).toBe(0);
    expect(growth(() => dropGradient(a))).toBe(-BYTES);
  });

  it('stays if the program read it', () => {
    const a = trained();
    const { grad: seen } = a;
    expect(growth(() => dropGradient(a))).toBe(0);
    expect(seen!.sum().item()).toBe(200);
  });

  it('stays if a hook was given it, on the leaf or on a tensor with the same gradient', () => {
    const seen: Tensor[] = [];
    const [a, b] = [leaf(), leaf()];
    a.registerHook((g) => void seen.push(g));
    b.registerPostAccumulateGradHook((t) => void seen.push(t.grad!));
    const middle = b.mul(1);
    const sum = a.add(middle);
    middle.registerHook((g) => void seen.push(g));
    middle.retainGrad();
    sum.mul(2).sum().backward();
    dropGradient(a);
    dropGradient(b);
    expect([...seen, middle.grad!].map((g) => g.sum().item())).toEqual([200, 200, 200, 200]);
  });

  it('stays if it was made under createGraph, or given to backward()', () => {
    const [a, b, c] = [leaf(), leaf(), leaf()];
    a.mul(a).sum().backward(null, { createGraph: true });
    const history = gradientOf(a)!;
    dropGradient(a);
    expect(history.sum().item()).toBe(200);
    const given = ones([100]);
    b.add(c).backward(given);
    dropGradient(b);
    dropGradient(c);
    expect(given.sum().item()).toBe(100);
  });

  it('stays to the end of a backward pass that may still need it', () => {
    const [a, b] = [leaf(), leaf()];
    // Both get the gradient of the sum; that of `a` is dropped before that of `b` is computed.
    a.registerPostAccumulateGradHook((t) => dropGradient(t));
    const loss = a.add(b.exp().log()).mul(2).sum();
    expect(growth(() => loss.backward())).toBe(BYTES);
    expect(b.grad!.sum().item()).toBeCloseTo(200, 3);
  });

  it('is released where the library says that it made it', () => {
    const a = leaf();
    setOwnGradient(a, zeros([100]));
    expect(growth(() => dropGradient(a))).toBe(-BYTES);
    setOwnGradient(a, tensor([1]));
    expect(a.grad!.item()).toBe(1);
    expect(growth(() => dropGradient(a))).toBe(0);
  });
});
