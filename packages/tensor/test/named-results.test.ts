/** @file What operators called by name return, beside their schemas. */
import { readFileSync } from 'node:fs';
import { expect, expectTypeOf, it } from 'vitest';
import type { OpOverload, Tensor } from '../src/index.js';
import '../src/index.js';
import { allOps, getOp } from '../src/internal.js';

it('operators that are listed as returning a tensor do so by their schemas', () => {
  const source = readFileSync(new URL('../src/op/named-results.ts', import.meta.url), 'utf8');
  const names = [...source.matchAll(/\| '([^']+)'/g)].map(([, name]) => name!);
  expect(names).toContain('aten::clone');
  const returning = allOps().flatMap(({ qualifiedName, schema: { returns } }) =>
    returns.length === 1 && returns[0]!.type.base === 'Tensor' && !returns[0]!.type.list
      ? [qualifiedName]
      : [],
  );
  expect(returning).toEqual(expect.arrayContaining(names));
});

it('an operator of another name returns something unknown', () => {
  const name: string = 'aten::clone';
  expectTypeOf(getOp('aten::clone')).toEqualTypeOf<OpOverload<Tensor>>();
  expectTypeOf(getOp('aten::chunk')).toEqualTypeOf<OpOverload>();
  expectTypeOf(getOp(name)).toEqualTypeOf<OpOverload>();
});
