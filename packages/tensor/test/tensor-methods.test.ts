import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OpOverload, Tensor } from '../src/index.js';
import { METHOD_MODULES } from '../src/tensor-methods.js';

describe('operator methods', () => {
  const source = readFileSync(new URL('../src/tensor-methods.ts', import.meta.url), 'utf8');
  const imported = [...source.matchAll(/import \* as (\w+) from/g)].map((match) => match[1]!);

  it('come from every listed module, in types and at run time', () => {
    expect(METHOD_MODULES.length).toBe(imported.length);
    for (const name of imported) expect(source).toContain(`MethodsOf<typeof ${name}>`);
  });

  it('exist on Tensor for every exported function, not for the operators beside them', () => {
    for (const module of METHOD_MODULES) {
      for (const [name, value] of Object.entries(module)) {
        const isOperator = value instanceof OpOverload;
        expect(typeof value === 'function' || isOperator, name).toBe(true);
        expect(name in Tensor.prototype, name).toBe(!isOperator);
      }
    }
  });
});
