import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Tensor } from '../src/index.js';
import { METHOD_MODULES } from '../src/tensor-methods.js';

describe('operator methods', () => {
  const source = readFileSync(new URL('../src/tensor-methods.ts', import.meta.url), 'utf8');
  const imported = [...source.matchAll(/import \* as (\w+) from/g)].map((match) => match[1]!);

  it('come from every listed module, in types and at run time', () => {
    expect(METHOD_MODULES.length).toBe(imported.length);
    for (const name of imported) expect(source).toContain(`MethodsOf<typeof ${name}>`);
  });

  it('exist on Tensor for every exported function', () => {
    const prototype = Tensor.prototype as unknown as Record<string, unknown>;
    for (const module of METHOD_MODULES) {
      for (const name of Object.keys(module)) expect(typeof prototype[name], name).toBe('function');
    }
  });

  it('are all functions of a tensor', () => {
    for (const module of METHOD_MODULES) {
      for (const [name, value] of Object.entries(module))
        expect(typeof value, name).toBe('function');
    }
  });
});
