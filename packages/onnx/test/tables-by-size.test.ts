/**
 * @file Constants of the file of which a call takes as much as its sizes ask for, and shapes that leave a size open: a
 * traced call is the same for all sizes, small ones that the host could compute included.
 */
import { compile, observeCompilations } from '@tessera/compile';
import { type Tensor, noGrad, randn } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { floats, ints, model, value } from './support/build-model.js';

it('has one code from the second sizes on where tables are cut and masks spread by sizes', async () => {
  const width = 4;
  const places = Array.from({ length: 64 }, (_, i) => (5 * i) % 64);
  const positions = ints('', [1, 64], places);
  const scales = floats('', [1, 1, width], [1, 2, 3, 4]);
  const bytes = model({
    inputs: [value('x', ['N', 'L', width])],
    outputs: [value('y', ['M', width]), value('last', ['N', 1, width])],
    nodes: [
      { op: 'Constant', out: ['positions'], in: [], attributes: { value: positions } },
      { op: 'Constant', out: ['scales'], in: [], attributes: { value: scales } },
      { op: 'Shape', in: ['x'], out: ['shape'] },
      { op: 'Gather', in: ['shape', 'zero'], out: ['batch'] },
      { op: 'Gather', in: ['shape', 'one'], out: ['length'] },
      // Positions of a table, cut at the length, and rows of an embedding.
      { op: 'Slice', in: ['positions', 'zero', 'length', 'one'], out: ['own'] },
      { op: 'Gather', in: ['embedding', 'own'], out: ['embedded'] },
      { op: 'Add', in: ['x', 'embedded'], out: ['sum'] },
      // A constant spread over the batch, whose elements the host could make while they are few.
      { op: 'Concat', in: ['batch', 'one', 'four'], out: ['wide'], attributes: { axis: 0 } },
      { op: 'Expand', in: ['scales', 'wide'], out: ['spread'] },
      { op: 'Mul', in: ['sum', 'spread'], out: ['scaled'] },
      { op: 'Reshape', in: ['scaled', 'rows'], out: ['y'] },
      // The last element of each row.
      { op: 'Sub', in: ['length', 'one'], out: ['end'] },

      { op: 'Gather', in: ['scaled', 'end'], out: ['last'], attributes: { axis: 1 } },
    ],
    initializers: [
      ints('zero', [1], [0]),
      ints('one', [1], [1]),
      ints('four', [1], [width]),
      ints('rows', [2], [-1, width]),
      floats(
        'embedding',
        [64, width],
        Array.from({ length: 256 }, (_, i) => (i % 17) / 8),
      ),
    ],
  });
  const module = await importOnnx(bytes);
  const run = compile((x: Tensor) => noGrad(() => module.call(x)));
  let made = 0;
  const stop = observeCompilations((_graph, { isShared }) => (made += isShared ? 0 : 1));
  // Batch and length grow together, so that two samples cannot tell them apart.
  const counts = [
    [2, 9],
    [3, 12],
    [5, 17],
    [4, 10],
    [6, 21],
    [300, 60],
  ].map(([batch, length]) => {
    const x = randn([batch!, length!, width]);
    const [found, wanted] = [run(x), noGrad(() => module.call(x))];
    for (const name of ['y', 'last'])
      expect(found[name]!.toArray()).toEqual(wanted[name]!.toArray());
    return made;
  });
  stop();
  expect(counts).toEqual([1, 2, 2, 2, 2, 2]);
});
