import { GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, manualSeed } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { SizeFamily } from '../src/index.js';
import { templateBackend } from './interpreter-backend.js';
import { SIZED_PROGRAMS } from './sized-programs.js';

const isNear = (a: number, b: number): boolean =>
  Object.is(a, b) || Math.abs(a - b) <= 1e-4 + 1e-4 * Math.abs(b);

/** 1 and 0 are what no template is for. */
const SIZES = [5, 8, 2, 3, 13, 4, 1, 0, 32, 8];

describe('SizeFamily', () => {
  for (const [name, { inputs, fn, plans = 3 }] of Object.entries(SIZED_PROGRAMS)) {
    it(`compiles ${name} for two sizes, and runs it at all`, () => {
      const backend = templateBackend();
      const family = new SizeFamily();
      for (const n of SIZES) {
        manualSeed(n);
        const args = inputs(n);
        const trace = makeFx(fn as (...inputs: Tensor[]) => Tensor | Tensor[], {
          tracingMode: 'fake',
        });
        const module = trace(...args) as GraphModule;
        const call = family.compile(module, backend);
        const expected = [fn(...(args as [Tensor, Tensor, Tensor, Tensor]))].flat();
        const results = call(args) as Tensor[];
        expected.forEach((tensor, i) => {
          expect(results[i]!.sizes, `${name} at ${n}`).toEqual(tensor.sizes);
          const [got, wanted] = [results[i]!, tensor].map((t) => Array.from(readNumbers(t)));
          got!.forEach((value, at) =>
            expect(isNear(value, wanted![at]!), `${value} for ${wanted![at]}`).toBe(true),
          );
        });
      }
      expect(backend.templates).toBe(1);
      expect(backend.plans).toBe(plans);
    });
  }
});
