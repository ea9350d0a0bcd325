/**
 * @file `tidy` and `dispose` inside and around compiled calls do what they do in eager mode.
 */
import { Linear } from '@tessera/nn';
import {
  type Tensor,
  keep,
  liveStorageBytes,
  noGrad,
  ones,
  tensor,
  tidy,
  zeros,
} from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

describe.each(['aot_eager', 'inductor'])('with %s', (backend) => {
  /** Calls a few times: the first captures, the others replay. */
  const repeat = (call: (i: number) => void): void => {
    for (let i = 0; i < 4; i++) call(i);
  };

  it('tidy releases what a compiled call made in it, except what is returned or kept', () => {
    const f = compile((x: Tensor) => ({ double: x.mul(2), triple: x.mul(3), square: x.mul(x) }), {
      backend,
    });
    repeat((i) => {
      const x = ones([100]).mul(i);
      const before = liveStorageBytes();
      let cached: Tensor | null = null;
      const { double, lost } = tidy(() => {
        const made = f(x);
        cached = keep(made.square);
        const hidden = made.triple;
        return { double: made.double, lost: () => hidden };
      });
      expect(liveStorageBytes() - before).toBe(800);
      expect([double, cached!].map((t) => t.select(0, 0).item())).toEqual([2 * i, i * i]);
      expect(() => lost().sum()).toThrow(/use-after-dispose/);
      for (const t of [double, cached!]) t.dispose();
      expect(liveStorageBytes()).toBe(before);
    });
  });

  it('tidy leaves alone what a returned loss has saved for backward', () => {
    const layer = new Linear(4, 3);
    const f = compile((x: Tensor) => (layer.call(x) as Tensor).sin().sum(), { backend });
    repeat(() => {
      const grads = [f, (x: Tensor) => (layer.call(x) as Tensor).sin().sum()].map((call) => {
        layer.zeroGrad();
        const loss = tidy(() => call(ones([2, 4]).mul(0.5)));
        loss.backward();
        return layer.weight.grad!.toArray();
      });
      expect(grads[0]).toEqual(grads[1]);
    });
  });

  it('tidy leaves leaves their gradients, of a whole step and inside one', () => {
    const layer = new Linear(4, 3);
    const train = (): Tensor => {
      const loss = (layer.call(ones([2, 4])) as Tensor).sin().sum();
      loss.backward();
      return loss.detach();
    };
    const zeroed = (): void => {
      train();
      layer.zeroGrad({ setToNone: false });
    };
    const step = compile(train, { backend });
    const inside = compile(() => void tidy(train), { backend });
    const gradients = (call: () => unknown): unknown => {
      layer.zeroGrad();
      call();
      call();
      return [layer.weight, layer.bias!].map((p) => p.grad!.toArray());
    };
    const want = gradients(train);
    repeat(() => {
      expect(gradients(() => tidy(step))).toEqual(want);
      expect(gradients(inside)).toEqual(want);
      for (const call of [compile(zeroed, { backend }), zeroed])
        expect(gradients(() => tidy(call))).toEqual([zeros([3, 4]).toArray(), [0, 0, 0]]);
    });
  });

  it('tidy leaves leaves the gradients that they are given', () => {
    const weight = ones([3]).requiresGrad_();
    const give = (): void => void (weight.grad = ones([3]).mul(2));
    const inside = compile(() => tidy(give), { backend });
    const around = compile(give, { backend });
    repeat(() => {
      for (const call of [() => tidy(give), inside, () => tidy(around)]) {
        weight.grad = null;
        call();
        expect(weight.grad!.toArray()).toEqual([2, 2, 2]);
      }
    });
  });

  it('tidy inside a compiled function keeps what it returns', () => {
    const f = compile(
      (x: Tensor) => {
        const inner = tidy(() => {
          const y = x.mul(2);
          return { z: y.add(1), w: y.sub(1) };
        });
        return inner.z.mul(inner.w);
      },
      { backend },
    );
    repeat((i) => expect(f(tensor([i, 3])).toArray()).toEqual([4 * i * i - 1, 35]));
  });

  it('tidy does not release the memory of tensors from outside, of which views are made in it', () => {
    const x = tensor([1, 2]);
    const f = compile((t: Tensor) => t.view([2, 1]), { backend });
    repeat(() => {
      tidy(() => void x.view([1, 2]));
      tidy(() => void f(x));
      tidy(() => void noGrad(() => x.t()));
      expect(x.toArray()).toEqual([1, 2]);
    });
  });

  it('an argument, a result and a captured tensor may be disposed of', () => {
    let captured = tensor([10]);
    const f = compile((x: Tensor) => x.mul(2).add(captured), { backend });
    repeat((i) => {
      const x = tensor([i]);
      const result = f(x);
      x.dispose();
      expect(result.item()).toBe(2 * i + 10);
      result.dispose();
      expect(() => result.item()).toThrow(/use-after-dispose/);
    });
    captured.dispose();
    expect(() => f(tensor([1])).item()).toThrow(/use-after-dispose/);
    captured = tensor([20]);
    expect(f(tensor([1])).item()).toBe(22);
    const gone = tensor([1]);
    gone.dispose();
    expect(() => f(gone).item()).toThrow(/use-after-dispose/);
    expect(f(tensor([2])).item()).toBe(24);
  });

  it('what was saved for backward and disposed of is an error, not a wrong gradient', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    const f = compile((x: Tensor) => w.mul(x).sum(), { backend });
    repeat(() => {
      const x = tensor([3, 4]);
      const loss = f(x);
      x.dispose();
      expect(() => loss.backward()).toThrow(/use-after-dispose/);
      expect(w.grad).toBe(null);
    });
  });
});

it('tidying up around a Fourier transform keeps the tables that later ones need', () => {
  const x = tensor(Array.from({ length: 512 }, (_, i) => Math.sin(i)));
  const run = (): unknown => tidy(() => fft.rfft(x).toArray());
  expect(run()).toEqual(run());
});
