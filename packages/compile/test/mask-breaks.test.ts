/**
 * @file Masks as indices and classes to be counted: shapes that depend on values end a graph instead of failing.
 */
import { type Tensor, arange, callOp, getOp, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const x = arange(10).reshape([5, 2]).to('float32');
const mask = tensor([true, false, true, true, false]);
const call = (name: string, ...args: unknown[]): Tensor => callOp(getOp(name), args) as Tensor;

const cases: [name: string, fn: (x: Tensor, mask: Tensor) => Tensor][] = [
  ['index', (a, m) => call('aten::index.Tensor', a.mul(2), [m]).add(1)],
  ['index_put', (a, m) => call('aten::index_put', a.mul(2), [m], a.select(0, 1), true).add(1)],
  ['index_put of one value', (a, m) => call('aten::index_put', a, [m], a.sum(), false)],
  ['one_hot', (_, m) => call('aten::one_hot', m.to('int64').mul(3), -1).mul(2)],
];

describe('compiled masks', () => {
  it.each(cases)('%s', (_name, fn) => {
    const compiled = compile(fn);
    for (const chosen of [mask, mask.logicalNot()])
      expect(compiled(x, chosen).toArray()).toEqual(fn(x, chosen).toArray());
  });
});
