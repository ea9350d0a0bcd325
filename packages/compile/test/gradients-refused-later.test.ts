/**
 * @file Leaves that are told not to take gradients after they were used: `backward()` leaves their `.grad` as it is, as in
 * PyTorch 2.13.
 */
import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

describe.each(['eager', 'aot_eager', 'inductor'])(
  'a leaf frozen before backward(): %s',
  (backend) => {
    it('between the call and backward()', () => {
      const w = ones([2]).requiresGrad_();
      const fn = compile((x: Tensor) => w.mul(x).sum(), { backend });
      for (const keeps of [true, false, true, false]) {
        const x = tensor([3, 4]).requiresGrad_();
        w.requiresGrad_().grad = null;
        const loss = fn(x);
        w.requiresGrad_(!keeps);
        loss.backward();
        expect(w.grad?.toArray()).toEqual(keeps ? undefined : [3, 4]);
        expect(x.grad!.toArray()).toEqual([1, 1]);
      }
    });

    it('inside of the function', () => {
      const w = ones([2]).requiresGrad_();
      const fn = compile(
        (x: Tensor, keeps: boolean) => {
          const loss = w.mul(x).sum();
          if (keeps) w.requiresGrad_(false);
          loss.backward();
          w.requiresGrad_();
          return loss;
        },
        { backend },
      );
      for (const keeps of [false, true, false, true, true]) {
        w.grad = null;
        const x = tensor([3, 4]).requiresGrad_();
        expect(fn(x, keeps).item()).toBe(7);
        expect(w.grad === null ? null : (w.grad as Tensor).toArray()).toEqual(
          keeps ? null : [3, 4],
        );
        expect(x.grad!.toArray()).toEqual([1, 1]);
      }
    });
  },
);
