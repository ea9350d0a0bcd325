import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OpOverload, Tensor, arange, matmul } from '../src/index.js';
import { vmap } from '../src/func/index.js';
import { METHODS, METHOD_MODULES, METHOD_OPERATORS } from '../src/tensor-methods.js';
import { writeMethods } from '../../../tooling/method-table.mjs';

describe('operator methods', () => {
  const file = join(import.meta.dirname, '../src/tensor-methods.ts');
  const source = readFileSync(file, 'utf8');
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

  it('are not made of what PyTorch has as functions only', () => {
    for (const name of ['alias', 'nativeDropout', 'rsub', 'unfoldBackward'])
      expect(name in Tensor.prototype, name).toBe(false);
  });

  it('say what elements are', () => {
    const half = arange(6, { dtype: 'float16' }).reshape([2, 3]);
    expect([half.nbytes, half.isFloatingPoint()]).toEqual([12, true]);
    const long = arange(6).narrow(0, 1, 2);
    expect([long.nbytes, long.isFloatingPoint()]).toEqual([16, false]);
  });

  it('of PyTorch that take no arguments are properties', () => {
    const x = arange(6).view([1, 2, 3]);
    expect([x.T.shape, x.mT.shape, x.mH.shape]).toEqual([
      [3, 2, 1],
      [1, 3, 2],
      [1, 3, 2],
    ]);
    expect(x.squeeze(0).H.toArray()).toEqual(x.squeeze(0).t().toArray());
    expect(matmul(x, x.mT).toArray()).toEqual([
      [
        [5, 14],
        [14, 50],
      ],
    ]);
    for (const name of ['T', 'H'] as const)
      expect(vmap((row: Tensor) => row[name])(x).shape).toEqual([1, 3, 2]);
  });

  it('are written out by the build, each from the module that it comes from', () => {
    const written = writeMethods(source, file, (path) => readFileSync(path, 'utf8'));
    const [, table] = /METHODS: [^=]* = \{ ([^}]*) \}/.exec(written)!;
    const fields = table!.split(', ').map((field) => field.split(': ') as [string, string]);
    expect(fields.map(([name]) => name).sort()).toEqual(Object.keys(METHODS).sort());
    const [, list] = /METHOD_MODULES: [^=]* = \[([^\]]*)\]/.exec(source)!;
    const listed = list!.split(',').map((name) => name.trim());
    const modules = new Map(METHOD_MODULES.map((module, i) => [listed[i], module]));
    for (const [name, value] of fields) {
      const [module, exported] = value.split('$');
      expect(modules.get(module!)![exported!], name).toBe(METHODS[name]);
      expect(written).toContain(`${exported} as ${value}`);
    }
  });

  it('are written out with the operators beside them', () => {
    const written = writeMethods(source, file, (path) => readFileSync(path, 'utf8'));
    const [, list] = /METHOD_OPERATORS: [^=]* = \[([^\]]*)\]/.exec(written)!;
    const names = list!.split(', ');
    expect(names.length).toBe(METHOD_OPERATORS.length);
    expect(names).toContain('extremum$maxOtherOp');
  });

  it('are written out without moving a line', () => {
    const written = writeMethods(source, file, (path) => readFileSync(path, 'utf8'));
    const lineOf = (text: string): number =>
      text.split('\n').findIndex((line) => line.includes('METHODS:'));
    expect(lineOf(written)).toBe(lineOf(source));
  });
});
