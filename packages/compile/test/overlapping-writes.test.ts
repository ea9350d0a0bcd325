/**
 * @file In-place operators refuse to read memory that they write in another layout, as PyTorch does; compiled too.
 */
import { type Tensor, arange, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const first = tensor([0, 1], { dtype: 'int64' });
const all = arange(6, { dtype: 'int64' });
const late = (x: Tensor): Tensor => x.slice(0, 1);
const early = (x: Tensor): Tensor => x.slice(0, 0, -1);

const REFUSED: Record<string, (x: Tensor) => unknown> = {
  add_: (x) => late(x).add_(early(x)),
  copy_: (x) => late(x).copy_(early(x)),
  'copy_ of one element': (x) => x.copy_(x.select(0, 0)),
  clamp_: (x) => late(x).clamp_(early(x)),
  lerp_: (x) => late(x).lerp_(early(x), 0.5),
  addcmul_: (x) => late(x).addcmul_(early(x), late(x)),
  eq_: (x) => late(x).eq_(early(x)),
  'a transposed one': (x) =>
    x
      .slice(0, 0, 4)
      .view([2, 2])
      .add_(x.slice(0, 0, 4).view([2, 2]).t()),
  'a row': (x) => x.view([2, 3]).add_(x.view([2, 3]).select(0, 0)),
  index_put_: (x) => late(x).indexPut_([first], x.slice(0, 0, 2)),
  'index_add_ of all': (x) => x.indexAdd_(0, all, x),
  'index_copy_ of all': (x) => x.indexCopy_(0, all, x),
  'scatter_ of all': (x) => x.scatter_(0, all, x),
  scatter_add_: (x) => late(x).scatterAdd_(0, first, x.slice(0, 0, 2)),
};

const PERMITTED: Record<string, (x: Tensor) => Tensor> = {
  itself: (x) => x.add_(x),
  'a view of all of it': (x) => x.copy_(x.view([6])),
  'other elements': (x) => x.slice(0, 0, null, 2).add_(x.slice(0, 1, null, 2)),
  'what is not dense': (x) => x.slice(0, 0, null, 2).add_(x.slice(0, 0, 3)),
  'an expanded element': (x) => x.add_(x.slice(0, 0, 1).expand([6])),
  'what is apart': (x) => x.slice(0, 3).indexPut_([first], x.slice(0, 0, 2)),
  'a value': (x) => x.maskedFill_(x.gt(2), x.select(0, 0)),
  'what masked_scatter_ copies': (x) => late(x).maskedScatter_(late(x).gt(2), early(x)),
  'the factor of a product': (x) => {
    const m = x.slice(0, 0, 4).view([2, 2]);
    return m.addmm_(m, m.t());
  },
};

const values = (): Tensor => arange(1, 7, 1, { dtype: 'float32' });

describe('memory that an in-place operator reads and writes', () => {
  for (const [name, program] of Object.entries(REFUSED))
    it(`is refused: ${name}`, () => {
      const text = 'unsupported operation: some elements of the input tensor and the written-to';
      expect(() => program(values())).toThrow(text);
      for (const backend of ['aot_eager', 'inductor'] as const) {
        const fn = compile(program, { backend });
        for (let i = 0; i < 2; i++) expect(() => fn(values())).toThrow(text);
      }
    });

  for (const [name, program] of Object.entries(PERMITTED))
    it(`is permitted: ${name}`, () => {
      const result = program(values()).toArray();
      const fn = compile(program);
      for (let i = 0; i < 2; i++) expect(fn(values()).toArray()).toEqual(result);
    });

  it('is refused where other arguments did not overlap', () => {
    const fn = compile((a: Tensor, b: Tensor) => a.add_(b));
    for (let i = 0; i < 2; i++) {
      const x = values();
      expect(fn(x.slice(0, 0, 3), x.slice(0, 3)).toArray()).toEqual([5, 7, 9]);
      expect(() => fn(x.slice(0, 0, 3), x.slice(0, 1, 4))).toThrow('some elements of the input');
    }
  });
});
