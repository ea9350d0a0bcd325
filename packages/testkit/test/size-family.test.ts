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
import {
  type Tensor,
  arange,
  embedding,
  eye,
  grad,
  manualSeed,
  randint,
  randn,
  tensor,
} from '@tessera/tensor';
import { inv, pinv } from '@tessera/tensor/linalg';
import { readNumbers, storageExtent } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { SIZED_PROGRAMS, type SizedProgram } from './sized-programs.js';

/** Plans of templates are interpreted, with every access checked. */
const interpreter: KernelBackend = hostBackend({
  name: 'interpreter',
  capabilities: { cheapKernels: true },
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

/** A backend that counts what it loads. */
function counted(base: KernelBackend): {
  readonly loaded: { templates: number; plans: number };
  readonly backend: KernelBackend;
} {
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
  return { loaded, backend };
}

/** No template is for 1 and 0; vectors of the CPU have four lanes, four of them to an iteration. */
const SIZES: Readonly<Record<string, readonly number[]>> = {
  interpreter: [5, 8, 2, 3, 13, 4, 1, 0, 32, 8],
  cpu: [5, 8, 2, 3, 13, 4, 1, 0, 7, 16, 17, 31, 64, 129, 131],
};

/** Programs with operators that have no lowering, for devices that can call their reference kernels. */
const WITH_CALLS: Readonly<Record<string, SizedProgram>> = {
  'calls of reference kernels': {
    inputs: (n) => [randn([n + 1, 3, 3]), randn([3, n + 2])],
    fn: (x, y) => [inv(x.mul(0.1).add(eye(3))).mul(2), pinv(y.mul(3).t()).add(1)],
    plans: 2,
  },
};

describe.each([
  ['interpreter', interpreted, SIZED_PROGRAMS],
  ['cpu', cpuBackend, { ...SIZED_PROGRAMS, ...WITH_CALLS }],
])('code for all sizes, %s', (target, base, programs) => {
  it.each(sampled(Object.entries(programs), 4))(`of %s (${sampleName})`, (name, program) => {
    const { inputs, fn, plans = 3 } = program;
    const { loaded, backend } = counted(base);
    const family = new SizeFamily();
    for (const n of SIZES[target]!) {
      manualSeed(n);
      const args = inputs(n) as [Tensor, Tensor, Tensor, Tensor];
      const at = (...[a, b, c, d]: Tensor[]): Tensor | Tensor[] => fn(a!, b!, c!, d!, n);
      const trace = makeFx(at, { tracingMode: 'fake' });
      const results = family.compile(trace(...args), backend)(args) as Tensor[];
      [at(...args)].flat().forEach((expected, i) => {
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

describe('plan blocks of more sizes than are kept', () => {
  it('are made again for code that is held', () => {
    const { loaded, backend } = counted(cpuBackend);
    const family = new SizeFamily();
    // Sums of rows are scratch, whose place depends on the size.
    const fn = (x: Tensor): Tensor[] => [x.sub(x.sum(0)).softmax(1).sum(0)];
    const held = Array.from({ length: 70 }, (_, i) => {
      const x = randn([i + 2, 3]);
      const code = family.compile(makeFx(fn, { tracingMode: 'fake' })(x), backend);
      return { x, code, wanted: Array.from(readNumbers(fn(x)[0]!)) };
    });
    for (const { x, code, wanted } of [...held, ...held.reverse()]) {
      const got = Array.from(readNumbers(code([x])[0] as Tensor));
      expect(got.findIndex((value, k) => !isNear(value, wanted[k]!))).toBe(-1);
    }
    expect(loaded).toEqual({ plans: 1, templates: 1 });
  });
});

describe('sizes at which the conditions of code do not hold', () => {
  it('share code of their own', () => {
    const { loaded, backend } = counted(cpuBackend);
    const family = new SizeFamily();
    const sorted = (x: Tensor): Tensor[] => x.sort(1);
    // Rows of up to 64 elements are ranked, longer ones left to the reference kernel.
    for (const n of [5, 100, 8, 120, 13, 110, 64, 65]) {
      const x = randn([3, n]);
      const trace = makeFx(sorted, { tracingMode: 'fake' })(x);
      const [values] = family.compile(trace, backend)([x]) as Tensor[];
      expect(Array.from(readNumbers(values!))).toEqual(Array.from(readNumbers(sorted(x)[0]!)));
    }
    // One of either kind before its template is made, and the first of the long ones.
    expect(loaded).toEqual({ plans: 3, templates: 2 });
  });

  it('are none for which another form is only faster', () => {
    const { loaded, backend } = counted(cpuBackend);
    const family = new SizeFamily();
    // Two tables of a transformer: for short texts, searches for the rows that name an element are worth it.
    const gradients = (words: Tensor, places: Tensor, at: Tensor, n: number): Tensor[] => {
      const [a, b] = [words, places].map((table) => table.detach().requiresGrad_()) as [
        Tensor,
        Tensor,
      ];
      const used = embedding(a, at).add(embedding(b, arange(n)));
      return grad(used.square().sum(), [a, b]) as Tensor[];
    };
    const [words, places] = [randn([256, 64]), randn([201, 64])];
    for (const n of [134, 106, 43, 28, 130, 14, 34, 190, 4, 2]) {
      const at = randint(0, 256, [n]);
      const run = (...[a, b, c]: Tensor[]): Tensor[] => gradients(a!, b!, c!, n);
      const trace = makeFx(run, { tracingMode: 'fake' })(words, places, at);
      const results = family.compile(trace, backend)([words, places, at]) as Tensor[];
      run(words, places, at).forEach((expected, i) => {
        const [got, wanted] = [results[i]!, expected].map((t) => Array.from(readNumbers(t)));
        expect(got!.findIndex((value, k) => !isNear(value, wanted![k]!))).toBe(-1);
      });
    }
    expect(loaded).toEqual({ plans: 1, templates: 1 });
  });

  it('refuse places by the size of the call', () => {
    const family = new SizeFamily();
    const looked = (x: Tensor, at: Tensor): Tensor => x.indexSelect(0, at);
    const trace = makeFx(looked, { tracingMode: 'fake' });
    for (const n of [5, 8, 13]) {
      const x = randn([n, 2]);
      const run = (at: Tensor): unknown => family.compile(trace(x, at), cpuBackend)([x, at]);
      expect(() => run(tensor([0, n], { dtype: 'int64' }))).toThrow(
        `index ${n} is out of bounds for dimension with size ${n}`,
      );
    }
  });
});
