/**
 * @file The texts that `pnpm kernels:diff` compares: the same for the same sources, whatever was compiled before.
 */
import { describe, expect, it } from 'vitest';
import { type KernelTexts, WGSL_PROFILES, kernelTexts } from '../src/kernels/kernel-texts.js';
import { kernelSubjects } from '../src/kernels/subjects.js';

async function textsOf(names: readonly string[]): Promise<KernelTexts> {
  const all: KernelTexts = new Map();
  for (const name of names) {
    for (const subject of kernelSubjects([name], null))
      for (const [path, text] of await kernelTexts(subject)) all.set(path, text);
  }
  return all;
}

describe('kernel texts', () => {
  it('of all subjects have names of their own, in an order that does not change', () => {
    const names = kernelSubjects([], null).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(kernelSubjects([], null).map(({ name }) => name));
    for (const name of names) expect(name).toMatch(/^(?:bench|conformance)\/[\w-]+$/);
  });

  it('are the same when generated again, after other programs', async () => {
    const some = ['bench/tiny_call_pure', 'conformance/reduction-softmax', 'conformance/product'];
    const first = await textsOf(some);
    expect([...(await textsOf(some.toReversed()))].sort()).toEqual([...first].sort());
    expect(first.size).toBeGreaterThan(20);
  });

  it('are WebAssembly and WGSL for each profile', async () => {
    const texts = await textsOf(['bench/softmax']);
    const targets = [...texts.keys()].map((path) => path.split('/').at(-2));
    expect([...new Set(targets)]).toEqual(['cpu', ...Object.keys(WGSL_PROFILES)]);
    for (const [path, text] of texts)
      expect(text).toContain(path.endsWith('.wat') ? '(func $' : '@compute');
  });
});
