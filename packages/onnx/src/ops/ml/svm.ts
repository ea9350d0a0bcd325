/**
 * @file Support vector machines.
 */
import { type Tensor, argmax, stack, where } from '@tessera/tensor';
import type { NodeCall } from '../../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../../registry.js';
import { indices, range } from '../like.js';
import { constantOf, rowsOf } from './constants.js';
import { labelTable } from './linear.js';
import { type NodeReader, type NodeTables, floatTable } from './node-tables.js';
import { asScores, labelOfLargest, labelled, pair, transformOf, transformed } from './scores.js';

const KERNELS = ['LINEAR', 'POLY', 'RBF', 'SIGMOID'] as const;

/** How like each row [N, F] is to each support vector [V, F]: [N, V]. */
function likeness(call: NodeCall, x: Tensor, vectors: Tensor): Tensor {
  const kernel = call.choice('kernel_type', KERNELS, 'LINEAR');
  const [gamma = 0, offset = 0, degree = 0] = call.floats('kernel_params') ?? [];
  if (kernel === 'RBF') {
    const apart = x.unsqueeze(1).sub(vectors.unsqueeze(0)).square().sum([-1]);
    return apart.mul(-gamma).exp();
  }
  const product = x.matmul(vectors.t());
  if (kernel === 'LINEAR') return product;
  const sloped = product.mul(gamma).add(offset);
  return kernel === 'POLY' ? sloped.pow(degree) : sloped.tanh();
}

function svmRegressor(call: NodeCall): Tensor {
  const x = rowsOf(call);
  const weights = constantOf(call, '$coefficients').to(x.dtype);
  const features =
    call.literal('$vectors') === null
      ? likenessToOne(call, x, weights)
      : likeness(call, x, constantOf(call, '$vectors').to(x.dtype)).matmul(weights.unsqueeze(1));
  const sum = features.add(constantOf(call, '$rho').to(x.dtype).narrow(0, 0, 1));
  if (call.flag('one_class')) return where(sum.gt(0), sum.mul(0).add(1), sum.mul(0).sub(1));
  return transformed(sum, transformOf(call));
}

/** Without support vectors the coefficients are the only one. */
function likenessToOne(call: NodeCall, x: Tensor, weights: Tensor): Tensor {
  return likeness(call, x, weights.reshape([-1, x.shape[1]!]));
}

/** Pairs of classes, in the order that files have them. */
function pairsOf(classes: number): (readonly [number, number])[] {
  return range(classes).flatMap((i) => range(classes - i - 1).map((k) => [i, i + k + 1] as const));
}

/** What is said for the first class of each pair: [N, pairs]. */
function duels(call: NodeCall, x: Tensor): Tensor {
  const like = likeness(call, x, constantOf(call, '$vectors').to(x.dtype));
  const weights = constantOf(call, '$coefficients').to(x.dtype);
  return like.matmul(weights).add(constantOf(call, '$rho').to(x.dtype));
}

function svmClassifier(call: NodeCall): Tensor[] {
  const x = rowsOf(call);
  const transform = transformOf(call);
  if (call.literal('$vectors') === null) {
    const scores = likenessToOne(call, x, constantOf(call, '$coefficients').to(x.dtype)).add(
      constantOf(call, '$rho').to(x.dtype),
    );
    return [labelOfLargest(call, scores), transformed(scores, transform)];
  }
  const classes = call.int('$classes');
  const scores = asScores(call, duels(call, x));
  const pairs = pairsOf(classes);
  const label = labelled(call, classes > 2 ? mostWins(scores, classes, pairs) : loser(scores));
  if (call.literal('$slopes') !== null) {
    const chances = coupled(call, pairChances(call, scores), classes, pairs);
    return [label, transformed(chances, transform)];
  }
  // One score of two classes speaks for the first, and is told for the second.
  return [label, transformed(classes > 2 ? scores : pair(scores.neg(), scores), transform)];
}

/** The class with the most pairs won. */
function mostWins(
  scores: Tensor,
  classes: number,
  pairs: readonly (readonly [number, number])[],
): Tensor {
  const wins = range(classes).map((own) => {
    const votes = pairs.flatMap(([i, j], p) => {
      if (own !== i && own !== j) return [];
      const isFirst = scores.select(1, p).gt(0);
      return [(own === i ? isFirst : isFirst.logicalNot()).to('float32')];
    });
    return votes.reduce((sum, vote) => sum.add(vote));
  });
  return argmax(stack(wins, 1), 1);
}

/** The second of two classes where the score does not speak for the first. */
function loser(scores: Tensor): Tensor {
  return scores.select(1, 0).gt(0).logicalNot().to('int64');
}

/** Chances of the first class of each pair are not taken for certain. */
const CERTAIN = 1e-7;

function pairChances(call: NodeCall, scores: Tensor): Tensor {
  const slopes = constantOf(call, '$slopes').to(scores.dtype);
  const offsets = constantOf(call, '$offsets').to(scores.dtype);
  return scores
    .mul(slopes)
    .add(offsets)
    .neg()
    .sigmoid()
    .clamp(CERTAIN, 1 - CERTAIN);
}

/** It takes four at most, with 2 to 20 classes and chances of all kinds; libsvm allows a hundred. */
const ROUNDS = 8;

/** Chances of classes [N, C] from those of pairs, by the second method of Wu, Lin and Weng (as libsvm has it). */
function coupled(
  call: NodeCall,
  chances: Tensor,
  classes: number,
  pairs: readonly (readonly [number, number])[],
): Tensor {
  const of = (i: number, j: number): Tensor => {
    const at = pairs.findIndex(([a, b]) => a === Math.min(i, j) && b === Math.max(i, j));
    const first = chances.select(1, at);
    return i < j ? first : first.neg().add(1);
  };
  const all = range(classes);
  const zero = chances.select(1, 0).mul(0);
  // Q[i][i] is the sum of r[j][i]², Q[i][j] is -r[j][i] r[i][j].
  const q = all.map((i) =>
    all.map((j) =>
      i === j
        ? all.filter((k) => k !== i).reduce((sum, k) => sum.add(of(k, i).square()), zero)
        : of(j, i).mul(of(i, j)).neg(),
    ),
  );
  const matrix = stack(
    q.map((row) => stack(row, 1)),
    1,
  );
  let p = chances
    .narrow(1, 0, 1)
    .mul(0)
    .add(1 / classes)
    .expand([chances.shape[0]!, classes]);
  const accuracy = 0.005 / classes;
  for (let round = 0; round < ROUNDS; round++) {
    let product = matrix.matmul(p.unsqueeze(-1)).squeeze(-1);
    let form = p.mul(product).sum([1], { keepdim: true });
    const isDone = product.sub(form).abs().amax([1], { keepdim: true }).lt(accuracy);
    let next = p;
    for (const t of all) {
      const own = matrix.select(1, t).narrow(1, t, 1);
      const step = form.sub(product.narrow(1, t, 1)).div(own);
      const scale = step.add(1);
      form = form
        .add(step.mul(step.mul(own).add(product.narrow(1, t, 1).mul(2))))
        .div(scale)
        .div(scale);
      product = product.add(step.mul(matrix.select(1, t))).div(scale);
      const here = indices(call, [t]).eq(indices(call, all));
      next = where(here, next.add(step), next).div(scale);
    }
    p = where(isDone, p, next);
  }
  return p;
}

/** Operators with one output. */
export const svmOperators: OperatorTable = { SVMRegressor: svmRegressor };
/** Operators with several outputs. */
export const svmLists: ListOperatorTable = { SVMClassifier: svmClassifier };

function vectorTables(reader: NodeReader, count: number): NodeTables {
  const values = reader.numbers('support_vectors') ?? [];
  if (values.length === 0) return {};
  const width = values.length / count;
  if (!Number.isInteger(width)) reader.fail(`${values.length} numbers for ${count} vectors`);
  return { $vectors: floatTable(values, [count, width]) };
}

/** What each support vector says in each pair of classes: [V, pairs]. */
function duelTable(reader: NodeReader, counts: readonly number[]): NodeTables {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const coefficients = reader.some('coefficients', total * (counts.length - 1));
  const pairs = pairsOf(counts.length);
  const classOf = counts.flatMap((count, c) => Array<number>(count).fill(c));
  const table = classOf.flatMap((own, v) =>
    pairs.map(([i, j]) => {
      if (own === i) return coefficients[(j - 1) * total + v]!;
      return own === j ? coefficients[i * total + v]! : 0;
    }),
  );
  return { $coefficients: floatTable(table, [total, pairs.length]) };
}

/** What each operator reads besides its own attributes. */
export const svmTables: Readonly<Record<string, (reader: NodeReader) => NodeTables>> = {
  SVMRegressor: (reader) => ({
    ...vectorTables(reader, reader.number('n_supports', 0)),
    $coefficients: floatTable(reader.some('coefficients')),
    $rho: floatTable(reader.some('rho')),
  }),
  SVMClassifier: (reader) => {
    const counts = reader.numbers('vectors_per_class') ?? [];
    const total = counts.reduce((sum, count) => sum + count, 0);
    const vectors = vectorTables(reader, total);
    const [slopes, offsets] = [reader.numbers('prob_a') ?? [], reader.numbers('prob_b') ?? []];
    const coefficients =
      vectors.$vectors === undefined
        ? { $coefficients: floatTable(reader.some('coefficients')) }
        : duelTable(reader, counts);
    return {
      ...vectors,
      ...coefficients,
      ...labelTable(reader, 'classlabels_ints'),
      $rho: floatTable(reader.some('rho')),
      $classes: { kind: 'int', value: counts.length },
      ...(slopes.length > 0 && { $slopes: floatTable(slopes), $offsets: floatTable(offsets) }),
    };
  },
};
