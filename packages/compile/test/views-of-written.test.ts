import { describe, expect, it } from 'vitest';
import { type Tensor, tensor } from '@tessera/tensor';
import { compile } from '../src/index.js';

describe.each(['aot_eager', 'inductor'])(
  'views of memory that a compiled function writes (%s)',
  (backend) => {
    it('are refused by detach_() in every call, and what the program kept stays readable', () => {
      let kept: Tensor | null = null;
      const call = compile(
        (x: Tensor) => {
          kept = x.neg();
          const part = kept.narrow(0, 0, 1);
          part.div_(2);
          part.detach_();
          return kept;
        },
        { backend },
      );
      for (let i = 1; i < 4; i++) {
        expect(() => call(tensor([4, i]))).toThrow("Can't detach views in-place");
        expect(kept!.toArray()).toEqual([-2, -i]);
      }
    });

    it('are returned as views', () => {
      const call = compile((x: Tensor) => x.neg().narrow(0, 0, 1).div_(2), { backend });
      for (let i = 1; i < 4; i++) {
        const part = call(tensor([4, i]));
        expect(part.toArray()).toEqual([-2]);
        expect(() => part.detach_()).toThrow("Can't detach views in-place");
      }
    });
  },
);
