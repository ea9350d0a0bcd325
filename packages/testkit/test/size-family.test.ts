/**
 * @file One code for all sizes of a program: templates in the reference interpreter, and as WebAssembly.
 */
import { makeFx } from '@tessera/graph';
import {
  type Executable,
  type ExecutionPlan,
  type KernelBackend,
  SizeFamily,
  TemplateSizes,
  hostBackend,
  planAt,
  verifyPlan,
} from '@tessera/inductor-core';
import { cpuBackend } from '@tessera/inductor-cpu';
import { type Tensor, manualSeed } from '@tessera/tensor';
import { readNumbers, storageExtent } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { SIZED_PROGRAMS } from './sized-programs.js';

/** Plans of templates are interpreted, with every access checked. */
const interpreter: KernelBackend = hostBackend({
  name: 'interpreter',
  language: 'none',
  generate: () => null,
  instantiate: () => () => undefined,
});

function verified(plan: ExecutionPlan): Executable {
  verifyPlan(plan);
  return interpreter.load(plan);
}

const interpreted: KernelBackend = {
  ...interpreter,
  load: verified,
  loadTemplate(template) {
    const sizes = new TemplateSizes(template.symbols);
    return {
      template,
      at: (values) => verified(planAt(template, sizes.at(values))),
      dispose: () => undefined,
    };
  },
};

const isNear = (a: number, b: number): boolean =>
  Object.is(a, b) || Math.abs(a - b) <= 1e-4 + 1e-4 * Math.abs(b);

/** No template is for 1 and 0; vectors of the CPU have four lanes, four of them to an iteration. */
const SIZES: Readonly<Record<string, readonly number[]>> = {
  interpreter: [5, 8, 2, 3, 13, 4, 1, 0, 32, 8],
  cpu: [5, 8, 2, 3, 13, 4, 1, 0, 7, 16, 17, 31, 64, 129, 131],
};

describe.each([
  ['interpreter', interpreted],
  ['cpu', cpuBackend],
])('code for all sizes, %s', (target, base) => {
  it.each(Object.entries(SIZED_PROGRAMS))('of %s', (name, { inputs, fn, plans = 3 }) => {
    const loaded = { templates: 0, plans: 0 };
    const backend: KernelBackend = {
      ...base,
      load(plan) {
        loaded.plans++;
        return base.load(plan);
      },
      loadTemplate(template) {
        loaded.templates++;
        return base.loadTemplate!(template);
      },
    };
    const family = new SizeFamily();
    for (const n of SIZES[target]!) {
      manualSeed(n);
      const args = inputs(n) as [Tensor, Tensor, Tensor, Tensor];
      const trace = makeFx(fn as (...all: Tensor[]) => Tensor | Tensor[], { tracingMode: 'fake' });
      const results = family.compile(trace(...args), backend)(args) as Tensor[];
      [fn(...args)].flat().forEach((expected, i) => {
        const result = results[i]!;
        expect(result.sizes, `${name} at ${n}`).toEqual(expected.sizes);
        // A view with gaps is returned with memory of its own.
        if (storageExtent(expected.sizes, expected.strides) === expected.numel)
          expect(result.strides, `${name} at ${n}`).toEqual(expected.strides);
        const [got, wanted] = [result, expected].map((t) => Array.from(readNumbers(t)));
        const wrong = got!.findIndex((value, at) => !isNear(value, wanted![at]!));
        expect(wrong, `${name} at ${n}: ${got![wrong]} for ${wanted![wrong]}`).toBe(-1);
      });
    }
    expect(loaded).toEqual({ templates: 1, plans });
  });
});
