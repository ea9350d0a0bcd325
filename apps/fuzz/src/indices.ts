/**
 * @file Reading and writing at indices that a program closes over, in range or out of it.
 *
 * What was read is added to `captured.sink`, so that it counts: an index whose element no result needs is not
 * looked at. A call whose indices are out of range throws `index-out-of-range` and changes nothing.
 */
import { functional } from '@tessera/nn';
import { type Tensor, embedding, gather, noGrad, scatter, scatterAdd, take } from '@tessera/tensor';
import type { Dice } from './dice.js';
import type { TensorSpec } from './program.js';

/** What reads or writes at the indices. */
export const INDEXINGS = [
  'indexSelect',
  'gather',
  'take',
  'embedding',
  'scatter',
  'scatterAdd',
  'labels',
] as const;

/** One of `INDEXINGS`. */
export type Indexing = (typeof INDEXINGS)[number];

/** The captured tensor of indices. */
export const INDICES = 'i0';
/** The captured tensor that what was read is added to. */
export const SINK = 'sink';
/** How many indices there are. */
const COUNT = 4;

/** The indices along dimension 0 of `t`, alike for all other places. */
function along(t: Tensor, index: Tensor): Tensor {
  const rest = t.shape.slice(1);
  return index.reshape([COUNT, ...rest.map(() => 1)]).expand([COUNT, ...rest]);
}

function read(kind: Indexing, t: Tensor, index: Tensor): Tensor {
  switch (kind) {
    case 'indexSelect':
      return t.indexSelect(0, index);
    case 'gather':
      return gather(t, 0, along(t, index));
    case 'take':
      return take(t, index);
    case 'embedding':
      return embedding(t, index);
    case 'scatter':
      return scatter(t, 0, along(t, index), 2);
    case 'scatterAdd':
      return scatterAdd(t, 0, along(t, index), along(t, index).to(t.dtype));
    case 'labels':
      return functional.crossEntropy(t, index);
  }
}

/** Reads `t` at the indices, and adds the sum to `sink`. */
export function indexed(kind: Indexing, t: Tensor, index: Tensor, sink: Tensor): Tensor {
  const result = read(kind, t, index);
  noGrad(() => sink.add_(result.detach().to('float32').sum()));
  return result;
}

/** The source of the above, for printed programs. */
export const INDEX_TEXT: readonly string[] = [
  'const along = (t: T.Tensor, index: T.Tensor): T.Tensor =>',
  `  index.reshape([${COUNT}, ...t.shape.slice(1).map(() => 1)]).expand([${COUNT}, ...t.shape.slice(1)]);`,
  'const reads: Record<string, (t: T.Tensor, index: T.Tensor) => T.Tensor> = {',
  '  indexSelect: (t, index) => t.indexSelect(0, index),',
  '  gather: (t, index) => T.gather(t, 0, along(t, index)),',
  '  take: (t, index) => T.take(t, index),',
  '  embedding: (t, index) => T.embedding(t, index),',
  '  scatter: (t, index) => T.scatter(t, 0, along(t, index), 2),',
  '  scatterAdd: (t, index) => T.scatterAdd(t, 0, along(t, index), along(t, index).to(t.dtype)),',
  '  labels: (t, index) => nn.functional.crossEntropy(t, index),',
  '};',
  'function indexed(kind: string, t: T.Tensor, index: T.Tensor, sink: T.Tensor): T.Tensor {',
  '  const result = reads[kind]!(t, index);',
  "  T.noGrad(() => sink.add_(result.detach().to('float32').sum()));",
  '  return result;',
  '}',
];

/** Indices; `bad` puts one among them that no dimension has. */
export function randomIndices(dice: Dice, bad: boolean): TensorSpec {
  const data = Array.from({ length: COUNT }, () => dice.below(2));
  if (bad) data[dice.below(COUNT)] = dice.pick([99, -1, 1000, -7, 2 ** 31]);
  return { dtype: 'int64', data, views: [], requiresGrad: false, leaf: true };
}

/** Where what was read is added. */
export const SINK_SPEC: TensorSpec = {
  dtype: 'float32',
  data: [0],
  views: [],
  requiresGrad: false,
  leaf: true,
};
