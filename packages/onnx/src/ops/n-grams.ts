/**
 * @file TfIdfVectorizer: how often each of the known runs of numbers stands in a row.
 */
import { type Tensor, stack, tensor, zeros } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { indices, range } from './like.js';

/** Known runs of one length, and where their counts stand in the result. */
interface Grams {
  readonly length: number;
  readonly runs: readonly (readonly number[])[];
  readonly places: readonly number[];
}

/** The pool cut into runs: `ngram_counts` says where those of one number, of two and so on begin. */
function gramsOf(call: NodeCall): Grams[] {
  if (call.texts('pool_strings') !== null) call.unsupported('a pool of strings');
  const pool = call.ints('pool_int64s') ?? call.fail('it has no pool');
  const begins = call.ints('ngram_counts') ?? call.fail('it has no ngram_counts');
  const places = call.ints('ngram_indexes') ?? call.fail('it has no ngram_indexes');
  let first = 0;
  return begins.map((begin, i) => {
    const length = i + 1;
    const part = pool.slice(begin, begins[i + 1] ?? pool.length);
    if (part.length % length > 0) call.fail(`${part.length} numbers are no runs of ${length}`);
    const runs = range(part.length / length).map((j) => part.slice(j * length, (j + 1) * length));
    const own = places.slice(first, (first += runs.length));
    if (own.length < runs.length || own.some((place) => place < 0))
      call.fail(`${places.length} ngram_indexes for the runs of its pool`);
    return { length, runs, places: own };
  });
}

/** How often each run stands in each row [N, C], with `skip` numbers left out between two of it: [N, runs]. */
function counted(call: NodeCall, x: Tensor, { length, runs }: Grams, skip: number): Tensor | null {
  const span = (length - 1) * (skip + 1);
  const windows = x.shape[1]! - span;
  if (windows <= 0) return null;
  const known = tensor(runs.flat(), { dtype: 'int64', device: call.device });
  const own = range(length).map((i) => x.narrow(1, i * (skip + 1), windows));
  const isSame = stack(own, -1)
    .unsqueeze(2)
    .eq(known.reshape([runs.length, length]));
  return isSame.all([-1]).to('float32').sum([1]);
}

function vectorizer(call: NodeCall): Tensor {
  const given = call.tensor(0);
  const mode = call.choice('mode', ['TF', 'IDF', 'TFIDF']);
  const [shortest, longest] = [call.int('min_gram_length'), call.int('max_gram_length')];
  const places = call.ints('ngram_indexes') ?? [];
  const x = given.to('int64').reshape([given.ndim < 2 ? 1 : given.shape[0]!, -1]);
  const width = Math.max(...places, -1) + 1;
  let counts = zeros([x.shape[0]!, width], { dtype: 'float32', device: call.device });
  for (const grams of gramsOf(call)) {
    const { length, runs } = grams;
    if (runs.length === 0 || length < shortest || length > longest) continue;
    // Nothing is left out between the numbers of a single one.
    const skips = length === 1 ? 0 : call.int('max_skip_count');
    for (const skip of range(skips + 1)) {
      const found = counted(call, x, grams, skip);
      if (found !== null) counts = counts.indexAdd(1, indices(call, grams.places), found);
    }
  }
  const weights = call.floats('weights');
  const isWeighted = mode !== 'TF' && weights !== null;
  if (mode === 'IDF') counts = counts.gt(0).to('float32');
  if (isWeighted) {
    if (weights.length !== places.length)
      call.fail(`${weights.length} weights for ${places.length} ngram_indexes`);
    const byPlace = Array<number>(width).fill(0);
    places.forEach((place, i) => (byPlace[place] = weights[i]!));
    counts = counts.mul(tensor(byPlace, { dtype: 'float32', device: call.device }));
  }
  return given.ndim < 2 ? counts.reshape([width]) : counts;
}

/** Operators of the standard domain. */
export const nGrams: OperatorTable = { TfIdfVectorizer: vectorizer };
