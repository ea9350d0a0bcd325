/**
 * @file Values that a program keeps, where compiled code shares or splits memory in its own way.
 */
import { type Tensor, grad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

describe.each(['eager', 'aot_eager', 'inductor'])('a kept value (%s)', (backend) => {
  it('and a part of it that was returned are one memory', () => {
    const kept: Tensor[] = [];
    const parts: Tensor[] = [];
    const f = compile(
      (x: Tensor) => {
        const square = x.mul(x);
        kept.push(square);
        parts.push(square.narrow(0, 1, 2));
      },
      { backend },
    );
    for (let i = 0; i < 4; i++) {
      f(tensor([1, 2, 3]));
      // Code that was not seen to need the whole returned the part alone.
      if (i === 0) {
        expect(() => kept[0]!.toArray()).toThrow(/part of its memory was returned alone/);
        continue;
      }
      parts[i]!.add_(1);
      expect(kept[i]!.toArray()).toEqual([1, 5, 10]);
      kept[i]!.zero_();
      expect(parts[i]!.toArray()).toEqual([0, 0]);
    }
  });

  it('of what has lost its history since takes gradients, or the read is an error', () => {
    const kept: Tensor[] = [];
    let keeps = false;
    const f = compile(
      (x: Tensor) => {
        const y = x.neg();
        const flat = y.reshape([1]);
        flat.sum().backward();
        if (keeps) kept.push(flat);
        y.detach_();
      },
      { backend },
    );
    const x = tensor(2, { requiresGrad: true });
    f(x.mul(1));
    keeps = true;
    for (let i = 0; i < 2; i++) f(x.mul(1));
    expect(() => kept[0]!.toArray()).toThrow(/neg was told not to take gradients since/);
    expect(kept[1]!.requiresGrad).toBe(true);
  });

  it('is no view because it shares memory with one', () => {
    const f = compile(
      (x: Tensor) => {
        const y = x.mul(3);
        const flat = y.reshape([4]);
        flat.copy_(flat);
        y.detach_();
        return [y, flat];
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const [y] = f(
        tensor([
          [1, 2],
          [3, 4],
        ]),
      );
      expect(y!.toArray()).toEqual([
        [3, 6],
        [9, 12],
      ]);
    }
  });

  it.each([
    ['of a parameter', (x: Tensor, w: Tensor): [Tensor, Tensor] => [x.matmul(w).pow(2), w]],
    [
      'of a leaf made inside',
      (x: Tensor, w: Tensor): [Tensor, Tensor] => {
        const leaf = x.mul(2).requiresGrad_();
        return [leaf.pow(2).matmul(w), leaf];
      },
    ],
  ])('is differentiated once, inside: %s', (_, make) => {
    let kept: Tensor | null = null;
    const unrelated = tensor([1]).requiresGrad_();
    const f = compile(
      (x: Tensor, w: Tensor) => {
        const [value, leaf] = make(x, w);
        kept = value;
        return grad(value.sum(), [leaf])[0]!;
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const w = tensor([
        [0.5, -1],
        [2, 0.3],
      ]).requiresGrad_();
      f(tensor([[i + 1, 2]]), w);
      expect(kept!.sizes).toEqual([1, 2]);
      expect(grad(kept!.sum(), [unrelated], { allowUnused: true })).toEqual([null]);
      expect(() => grad(kept!.sum(), [w]), `call ${i}`).toThrow(/backward-twice/);
      expect(() => kept!.sum().backward(), `call ${i}`).toThrow(/backward-twice/);
    }
  });
});
