/**
 * @file Strided views of arguments in compiled functions: what an argument holds is read as eager code reads it; where one
 * reads memory around it, which a kernel is not given, the graph runs operator by operator.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, arange, ones } from '@tessera/tensor';
import { compile } from '../src/index.js';

/** Every second of eight. */
const everySecond = (): Tensor => arange(8).slice(0, 0, 8, 2);

const read: readonly [name: string, base: Tensor, view: (x: Tensor) => Tensor][] = [
  ['of an argument with gaps', everySecond(), (x) => x.asStrided([2, 2], [4, 2], 0)],
  ['of a transposed one', ones([3, 2]).cumsum(0).t(), (x) => x.asStrided([3], [2], 1)],
  ['of an expanded one', ones([2, 1]).expand([2, 2]), (x) => x.asStrided([2, 2], [1, 0], 0)],
  ['between the elements of one', everySecond(), (x) => x.asStrided([3], [1], 0)],
  ['behind a part', arange(8).narrow(0, 0, 4), (x) => x.asStrided([6], [1], 0)],
  ['of a part made inside', arange(8), (x) => x.add(1).narrow(0, 0, 4).asStrided([6], [1], 0)],
];

describe('a strided view in a compiled function', () => {
  it.each(read)('%s reads what eager code reads', (_name, base, view) => {
    const fn = (x: Tensor): Tensor => view(x).add(1);
    expect(compile(fn)(base).toArray()).toEqual(fn(base).toArray());
  });
});
