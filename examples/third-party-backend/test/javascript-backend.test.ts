/**
 * @file The backend passes the conformance suite that testkit publishes, and its kernels are JavaScript.
 */
import { compile, kernelBackend, registerKernelBackend } from '@tessera/compile';
import type { KernelBackend } from '@tessera/inductor-core';
import { type Tensor, randn } from '@tessera/tensor';
import {
  assertClose,
  runAndGetCode,
  runBackendConformance,
  testBackendConformance,
} from '@tessera/testkit';
import { describe, expect, it } from 'vitest';
import { javascriptBackend, register } from '../src/index.js';

/** The backend, which notes what kinds of kernels it gets and what becomes of them. */
const made = new Map<string, Set<string>>();
const watched: KernelBackend = {
  ...javascriptBackend,
  load(plan) {
    const executable = javascriptBackend.load(plan);
    plan.kernels.forEach(({ kind }, i) => {
      const languages = made.get(kind) ?? new Set<string>();
      made.set(kind, languages.add(executable.sources[i]!.language));
    });
    return executable;
  },
};

describe('javascript backend', () => {
  testBackendConformance(it, watched);

  it('leaves no kind of kernel to the interpreter', () => {
    expect(Object.fromEntries([...made].map(([kind, found]) => [kind, [...found]]))).toEqual({
      loop: ['javascript'],
      matmul: ['javascript'],
      attention: ['javascript'],
    });
  });

  it('has nothing to say to the suite', async () => {
    const { failed, notApplicable } = await runBackendConformance(javascriptBackend, {
      only: 'dtypes',
    });
    expect(failed).toEqual([]);
    expect(notApplicable.flatMap(({ missing }) => missing)).toEqual(['float16', 'bfloat16']);
  });

  it('registers itself; a fused kernel is one loop of JavaScript', async () => {
    const before = kernelBackend('cpu');
    register();
    try {
      const f = (x: Tensor, y: Tensor) => x.mul(2).add(y).relu();
      const inputs = [randn([3, 4]), randn([4])] as const;
      const { result, compiled } = await runAndGetCode(() => compile(f)(...inputs));
      assertClose(result, f(...inputs));
      expect(compiled.map(({ code }) => code)).toMatchInlineSnapshot(`
        [
          [
            "for (let i0 = 0; i0 < 3; i0++) {
          for (let i1 = 0; i1 < 4; i1++) {
            const v0 = in0[4*i0 + i1];
            const v1 = Math.fround(v0 * 2);
            const v2 = in1[i1];
            const v3 = Math.fround(v1 + v2);
            const v4 = Math.max(v3, 0);
            out0[4*i0 + i1] = v4;
          }
        }",
          ],
        ]
      `);
    } finally {
      registerKernelBackend(before);
    }
  });
});
