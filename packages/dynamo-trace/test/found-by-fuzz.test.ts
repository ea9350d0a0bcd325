/**
 * @file Programs in which the fuzzer found that tracing differed from eager mode.
 */
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

describe('found by pnpm fuzz', () => {
  it('requiresGrad_() on an argument leaves what was computed before without history', () => {
    const { call } = compileEager((x: Tensor) => {
      const before = x.mul(2);
      x.requiresGrad_();
      return [before, x.mul(3)];
    });
    for (let i = 0; i < 3; i++) {
      const [before, after] = call(tensor([1, 2]));
      expect([before!.requiresGrad, after!.requiresGrad]).toEqual([false, true]);
      expect([before!.toArray(), after!.toArray()]).toEqual([
        [2, 4],
        [3, 6],
      ]);
    }
  });

  it('requiresGrad_() on a result gives it gradients', () => {
    const { call } = compileEager((x: Tensor) => {
      const leaf = x.mul(2).requiresGrad_();
      leaf.mul(leaf).sum().backward();
      return leaf.grad!;
    });
    for (let i = 1; i < 4; i++) expect(call(tensor([i])).toArray()).toEqual([4 * i]);
  });

  it('requiresGrad_() beside a view whose history cannot be read, as its base was written', () => {
    const w = tensor([1, 2]).requiresGrad_().mul(1);
    const { call } = compileEager((x: Tensor) => {
      w.expand([2, 2]);
      x.slice(0, 0, 1).requiresGrad_();
      w.mul_(2);
    });
    for (let i = 1; i < 4; i++) {
      noGrad(() => call(tensor([3, 4])));
      expect(w.toArray()).toEqual([2 ** i, 2 * 2 ** i]);
    }
  });

  it('a path that diverges behind a break may use what the graph before it did not return', () => {
    let reads = 0;
    const w = tensor([0, 0]);
    const fn = (x: Tensor): Tensor => {
      const hidden = w.cos();
      let y = x;
      reads++;
      for (let i = 0; i < reads; i++) {
        expect(hidden.sum().item()).toBe(2);
        y = y.add(w.add(1));
      }
      return y;
    };
    const { call } = compileEager(fn);
    noGrad(() => {
      for (let i = 1; i < 5; i++) expect(call(tensor([1, 2])).toArray()).toEqual([1 + i, 2 + i]);
    });
  });

  it('an op that breaks the graph gets its arguments, although an input was modified', () => {
    const { call } = compileEager((x: Tensor) => {
      x.add_(1);
      const y = x.mul(2);
      return [y.transpose_(0, 1), y.maskedSelect(y.gt(5))];
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([[i, 2]]);
      const [turned, picked] = call(x);
      expect(turned!.toArray()).toEqual([[2 * i + 2], [6]]);
      expect(picked!.toArray()).toEqual(i > 1 ? [2 * i + 2, 6] : [6]);
    }
  });

  it('an in-place op on a view of a leaf is refused in the same words', () => {
    const fn = (x: Tensor, flat: boolean): Tensor => (flat ? x.reshape([4]) : x).add_(1);
    const { call } = compileEager(fn);
    const refusal = (f: typeof fn, x: Tensor, flat: boolean): string => {
      try {
        f(x, flat);
      } catch (error) {
        return (error as Error).message;
      }
      return 'none';
    };
    for (const flat of [false, true, false]) {
      for (const make of [
        () => tensor([1, 2, 3, 4]).view([2, 2]).requiresGrad_(),
        () => tensor([1, 2, 3, 4]).requiresGrad_(),
        () => tensor([1, 2, 3, 4]).requiresGrad_().view([2, 2]),
      ])
        expect(refusal(call, make(), flat)).toBe(refusal(fn, make(), flat));
    }
  });

  it('an argument that is its own result may change its layout', () => {
    const { call } = compileEager((x: Tensor) => {
      x.contiguous();
      x.unsqueeze_(0);
      return x.add(1);
    });
    for (let i = 0; i < 3; i++) expect(call(tensor([1, 2])).toArray()).toEqual([[2, 3]]);
  });

  it('a view has history although what it is a view of changes its layout', () => {
    const { call } = compileEager((x: Tensor) => {
      const y = x.mul(3);
      const view = y.narrow(1, 0, 1);
      y.transpose_(0, 1);
      return view;
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]).requiresGrad_();
      call(x).sum().backward();
      expect(x.grad!.toArray()).toEqual([
        [3, 0, 0],
        [3, 0, 0],
      ]);
    }
  });

  it('a value kept outside is what it was although an argument was transposed in place', () => {
    const kept: Tensor[] = [];
    const { call } = compileEager((x: Tensor) => {
      const y = x.add(1);
      const more = y.mul(2);
      kept.push(y);
      x.transpose_(0, 1);
      return more;
    });
    for (let i = 0; i < 4; i++) {
      call(
        tensor([
          [1, 2],
          [3, 4],
        ]),
      );
      // The first call that runs compiled code finds out that the value is kept.
      if (i === 1) expect(() => kept[1]!.toArray()).toThrow(/overwritten since/);
      if (i === 1) continue;
      expect(kept[i]!.strides).toEqual([2, 1]);
      expect(kept[i]!.toArray()).toEqual([
        [2, 3],
        [4, 5],
      ]);
    }
  });

  it('a view made before its base took gradients gives the base history', () => {
    const fn = (x: Tensor): Tensor => {
      const view = x.view([2]);
      const leaf = x.requiresGrad_();
      view.mul_(leaf);
      return x.fill_(2).mul(3);
    };
    const { call } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      const [eager, compiled] = [fn(tensor([1, 2])), call(tensor([1, 2]))];
      expect(compiled.toArray()).toEqual(eager.toArray());
      expect(compiled.requiresGrad).toBe(eager.requiresGrad);
    }
  });
});
