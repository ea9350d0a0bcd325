/**
 * @file Values that the program keeps although compiled code was not seen to need them.
 */
import { type Tensor, cat, manualSeed, ones, rand, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

/** A function that keeps an intermediate in every call but the first. */
function keeping(make: (x: Tensor, w: Tensor) => { kept: Tensor; result: Tensor }): {
  call: (x: Tensor, w: Tensor) => Tensor;
  kept: Tensor[];
} {
  const kept: Tensor[] = [];
  let calls = 0;
  const { call } = compileEager((x: Tensor, w: Tensor) => {
    const made = make(x, w);
    if (calls++ > 0) kept.push(made.kept);
    return made.result;
  });
  call(ones([2]), ones([2]));
  return { call, kept };
}

describe('a value that was kept', () => {
  it('is an error once when the call itself overwrites its inputs', () => {
    const { call, kept } = keeping((x, w) => {
      const h = x.mul(w);
      const result = h.add(1);
      w.add_(10);
      return { kept: h, result };
    });
    const w = tensor([2, 3]);
    call(tensor([1, 2]), w);
    expect(() => kept[0]!.toArray()).toThrow(
      /result of mul was kept .*L\['w'\] was overwritten since[^]*escapes\.test\.ts:\d+[^]*Return it from the function/,
    );
    for (let i = 0; i < 2; i++) call(tensor([1, 2]), w);
    expect(kept.slice(1).map((t) => t.toArray())).toEqual([
      [12, 26],
      [22, 46],
    ]);
    expect(w.toArray()).toEqual([32, 33]);
  });

  it('is computed from what an input is after the last write to it', () => {
    const { call, kept } = keeping((x, w) => {
      w.add_(10);
      const h = w.mul(x);
      return { kept: h, result: h.add(1) };
    });
    const w = tensor([2, 3]);
    call(tensor([1, 2]), w);
    expect(kept[0]!.toArray()).toEqual([12, 26]);
    expect(w.toArray()).toEqual([12, 13]);
  });

  it('is an error when somebody overwrites or disposes its inputs afterwards', () => {
    const { call, kept } = keeping((x, w) => {
      const h = x.mul(w);
      return { kept: h, result: h.add(1) };
    });
    const [x, w] = [tensor([1, 2]), tensor([2, 3])];
    call(x, w);
    call(x, w);
    w.unsqueeze_(0);
    expect(() => kept[0]!.toArray()).toThrow(/L\['w'\] was overwritten since/);
    x.dispose();
    expect(() => kept[1]!.toArray()).toThrow(/L\['x'\] was disposed since/);
  });

  it('is found on a path that the call takes for the first time', () => {
    const { call } = compileEager((x: Tensor) => {
      x.mul_(2);
      const y = x.add(1);
      const total = y.sum().item();
      return total > 10 ? y.mul(3) : x;
    });
    expect(call(tensor([1, 2])).toArray()).toEqual([2, 4]);
    expect(call(tensor([3, 4])).toArray()).toEqual([21, 27]);
  });

  it('is there for the next call, whose sizes are others (a cache that grows)', () => {
    const grow = (): ((x: Tensor) => number[]) => {
      const cache: { keys: Tensor | null } = { keys: null };
      const { call } = compileEager((x: Tensor) => {
        const key = x.mul(2);
        cache.keys = cache.keys === null ? key : cat([cache.keys, key], 1);
        return cache.keys.sum(1);
      });
      return (x) => {
        const sum = (call(x) as Tensor).item() as number;
        return [sum, cache.keys!.shape[1]!];
      };
    };
    const step = grow();
    expect(Array.from({ length: 8 }, () => step(ones([1, 1])))).toEqual(
      Array.from({ length: 8 }, (_, i) => [2 * (i + 1), i + 1]),
    );
  });

  it('shares the memory that it is a view of', () => {
    const { call, kept } = keeping((x, w) => {
      const view = x.view([2, 1]);
      const sum = view.add(w.sum());
      const part = sum.select(0, 0);
      x.add_(part.sum());
      return { kept: view, result: sum };
    });
    const x = tensor([1, 2]);
    call(x, ones([2]));
    expect(kept[0]!.toArray()).toEqual([[4], [5]]);
    x.zero_();
    expect(kept[0]!.toArray()).toEqual([[0], [0]]);
    kept[0]!.fill_(7);
    expect(x.toArray()).toEqual([7, 7]);
  });

  it('shares the memory of a result', () => {
    const { call, kept } = keeping((x, w) => {
      const result = x.mul(w);
      const part = result.narrow(0, 1, 1);
      const more = part.add(1);
      return { kept: part, result: more.sum().item() > 0 ? result : more };
    });
    const result = call(tensor([1, 2]), ones([2]));
    result.mul_(10);
    expect(kept[0]!.toArray()).toEqual([20]);
  });

  it('has its history', () => {
    const { call, kept } = keeping((x, w) => {
      const h = x.mul(3);
      return { kept: h, result: h.mul(w) };
    });
    const x = tensor([1, 2]).requiresGrad_();
    call(x, ones([2]));
    kept[0]!.sum().backward();
    expect(kept[0]!.toArray()).toEqual([3, 6]);
    expect(x.grad!.toArray()).toEqual([3, 3]);
  });

  it('has the random numbers that were drawn', () => {
    manualSeed(3);
    const { call, kept } = keeping((x) => {
      const noise = rand([2]);
      return { kept: noise, result: noise.mul(2).add(x) };
    });
    const result = call(tensor([0, 0]), ones([2]));
    const after = rand([2]);
    expect(kept[0]!.mul(2).toArray()).toEqual(result.toArray());
    manualSeed(3);
    for (let draws = 0; draws < 2; draws++) rand([2]);
    expect(rand([2]).toArray()).toEqual(after.toArray());
  });

  it('is an error once where a part of its memory was returned, and is there from the next call on', () => {
    const { call, kept } = keeping((x, w) => {
      const mask = x.gt(w);
      return { kept: mask, result: mask.view([2, 1]) };
    });
    for (let i = 0; i < 2; i++) {
      const result = call(tensor([1, 2]), tensor([1, 1]));
      if (i === 0) {
        expect(() => kept[i]!.toArray()).toThrow('a part of its memory was returned alone');
        continue;
      }
      expect(kept[i]!.toArray()).toEqual([false, true]);
      result.fill_(true);
      expect(kept[i]!.toArray()).toEqual([true, true]);
    }
  });

  it('is an error once whether what it is made of takes gradients was changed', () => {
    const { call, kept } = keeping((x, w) => {
      const h = x.mul(w);
      return { kept: h, result: h.add(1) };
    });
    const x = tensor([1, 2]);
    call(x, ones([2]));
    x.requiresGrad_();
    expect(() => kept[0]!.toArray()).toThrow("L['x'] was told to take gradients since");
  });

  it('takes gradients if it was told to, although only a closure has it', () => {
    let kept: Tensor | null = null;
    const { call, graphs } = compileEager((x: Tensor) => {
      const h = x.mul(2);
      const result = h.exp();
      kept = h.requiresGrad_();
      return result;
    });
    for (let i = 0; i < 3; i++) {
      call(tensor([1, 2]));
      expect(kept!.toArray()).toEqual([2, 4]);
      expect([kept!.requiresGrad, kept!.isLeaf]).toEqual([true, true]);
      kept!.mul(3).sum().backward();
      expect(kept!.grad!.toArray()).toEqual([3, 3]);
    }
    expect(graphs).toHaveLength(1);
  });

  it('takes gradients if it was told to after the call', () => {
    let keep = false;
    let kept: Tensor | null = null;
    const { call } = compileEager((x: Tensor) => {
      const h = x.mul(2);
      if (keep) kept = h;
      return h.exp();
    });
    for (keep of [false, true, true]) call(tensor([1, 2]));
    kept!.requiresGrad_();
    expect(kept!.toArray()).toEqual([2, 4]);
    kept!.sum().backward();
    expect(kept!.grad!.toArray()).toEqual([1, 1]);
  });
});
