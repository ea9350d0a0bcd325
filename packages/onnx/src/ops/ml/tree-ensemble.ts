/**
 * @file Trees: all rows walk down all trees at once, one level after another.
 */
import { type Tensor, index, where, zerosLike } from '@tessera/tensor';
import type { NodeCall } from '../../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../../registry.js';
import { constantOf, optionalConstant, rowsOf } from './constants.js';
import { labelTable } from './linear.js';
import { type NodeReader, type NodeTables, floatTable } from './node-tables.js';
import { asScores, labelOfLargest, labelled, pair, transformOf, transformed } from './scores.js';
import { MODES, listedTrees, numberedTrees } from './trees.js';

const AGGREGATES = ['AVERAGE', 'SUM', 'MIN', 'MAX'] as const;
type Aggregate = (typeof AGGREGATES)[number];

/** Whether each value is in the sorted set of its node: how many of a set are no more is found bit by bit. */
function isMember(call: NodeCall, value: Tensor, at: Tensor): Tensor {
  const members = constantOf(call, '$members').to(value.dtype);
  const bounds = constantOf(call, '$bounds');
  const begin = index(bounds, [at.mul(2)]);
  const end = index(bounds, [at.mul(2).add(1)]);
  const last = (upTo: Tensor): Tensor => index(members, [upTo.sub(1).clampMin(0)]);
  let upTo = begin;
  for (let step = 2 ** Math.floor(Math.log2(call.int('$largest'))); step >= 1; step /= 2) {
    const next = upTo.add(step).minimum(end);
    upTo = where(last(next).le(value), next, upTo);
  }
  return upTo.gt(begin).logicalAnd(last(upTo).eq(value));
}

/** Which branch each row [N] takes at its node of each tree [N, T]. */
function decisions(call: NodeCall, x: Tensor, at: Tensor): Tensor {
  const value = x.gather(1, index(constantOf(call, '$features'), [at]));
  const threshold = index(constantOf(call, '$thresholds').to(x.dtype), [at]);
  const decide = (mode: number): Tensor => {
    switch (MODES[mode]!) {
      case 'LEQ':
        return value.le(threshold);
      case 'LT':
        return value.lt(threshold);
      case 'EQ':
        return value.eq(threshold);
      case 'MEMBER':
        return isMember(call, value, at);
    }
  };
  const [first = 0, ...others] = call.ints('$modes') ?? [];
  let isTrue = decide(first);
  if (others.length > 0) {
    const mode = index(constantOf(call, '$mode'), [at]);
    for (const other of others) isTrue = where(mode.eq(other), decide(other), isTrue);
  }
  const missing = optionalConstant(call, '$missing');
  if (missing === null) return isTrue;
  return isTrue.logicalOr(value.isnan().logicalAnd(index(missing, [at]).ne(0)));
}

/** The sum (or mean, …) over all trees of what the leaves of each row say: [N, targets]. */
function walk(call: NodeCall, x: Tensor, aggregate: Aggregate): Tensor {
  const roots = constantOf(call, '$roots');
  const trees = roots.shape[0]!;
  const children = constantOf(call, '$children');
  let at = roots.unsqueeze(0).expand([x.shape[0]!, trees]);
  for (let level = call.int('$depth'); level > 0; level--)
    at = index(children, [at.mul(2).add(decisions(call, x, at).to('int64'))]);
  const said = index(constantOf(call, '$weights').to(x.dtype), [at]);
  if (aggregate === 'SUM') return said.sum([1]);
  if (aggregate === 'AVERAGE') return said.sum([1]).div(trees);
  // A tree that says nothing of a target does not count.
  const isLeast = aggregate === 'MIN';
  const filled = where(said.isnan(), isLeast ? Infinity : -Infinity, said);
  const extreme = isLeast ? filled.amin([1]) : filled.amax([1]);
  return where(extreme.isinf(), 0, extreme);
}

function withBase(call: NodeCall, scores: Tensor): Tensor {
  const base = optionalConstant(call, '$base');
  return base === null ? scores : scores.add(base.to(scores.dtype));
}

function regressor(call: NodeCall): Tensor {
  const aggregate = call.choice('aggregate_function', AGGREGATES, 'SUM');
  const scores = withBase(call, walk(call, rowsOf(call), aggregate));
  return asScores(call, transformed(scores, transformOf(call)));
}

function ensemble(call: NodeCall): Tensor {
  const aggregate =
    AGGREGATES[call.int('aggregate_function', 1)] ?? call.fail('its aggregate_function is unknown');
  return transformed(walk(call, rowsOf(call), aggregate), transformOf(call, true));
}

function classifier(call: NodeCall): Tensor[] {
  const scores = withBase(call, asScores(call, walk(call, rowsOf(call), 'SUM')));
  const transform = transformOf(call);
  if (!call.flag('$isOne')) return [labelOfLargest(call, scores), transformed(scores, transform)];
  // Leaves speak of one class of two only: what they say decides between both.
  const areChances = call.flag('$areChances');
  const isSecond = scores.select(1, 0).gt(areChances ? 0.5 : 0);
  const first = otherScore(call, scores, areChances && transform !== 'LOGISTIC');
  const both = pair(first, scores);
  const isPlain = !call.flag('$isSecond') && transform !== 'LOGISTIC';
  return [labelled(call, isSecond.to('int64')), isPlain ? both : transformed(both, transform)];
}

/** The score of the class that leaves do not speak of: none where that is the first, as onnxruntime has it. */
function otherScore(call: NodeCall, scores: Tensor, isChance: boolean): Tensor {
  if (call.flag('$isSecond')) return zerosLike(scores);
  return isChance ? scores.neg().add(1) : scores.neg();
}

/** Operators with one output. */
export const treeOperators: OperatorTable = {
  TreeEnsembleRegressor: regressor,
  TreeEnsemble: ensemble,
};
/** Operators with several outputs. */
export const treeLists: ListOperatorTable = { TreeEnsembleClassifier: classifier };

function baseTable(values: readonly number[] | null): NodeTables {
  return values === null || values.length === 0 ? {} : { $base: floatTable(values) };
}

/** Two classes of which the leaves speak of one only are one column; else there is one for each class. */
function classifierTables(reader: NodeReader): NodeTables {
  const labels = reader.texts('classlabels_strings') ?? reader.some('classlabels_int64s');
  const [own = 0, ...others] = new Set(reader.some('class_ids'));
  const isOne = labels.length === 2 && others.length === 0;
  const base = reader.numbers('base_values');
  const flag = (value: boolean) => ({ kind: 'int', value: value ? 1 : 0 }) as const;
  return {
    ...numberedTrees(reader, 'class', isOne ? 1 : labels.length),
    ...labelTable(reader),
    ...baseTable(isOne && base?.length === 2 ? [base[own]!] : base),
    $isOne: flag(isOne),
    $isSecond: flag(own === 1),
    $areChances: flag(reader.some('class_weights').every((weight) => weight >= 0)),
  };
}

/** What each operator reads besides its own attributes. */
export const treeTables: Readonly<Record<string, (reader: NodeReader) => NodeTables>> = {
  TreeEnsembleRegressor: (reader) => ({
    ...numberedTrees(reader, 'target', reader.number('n_targets', 1)),
    ...baseTable(reader.numbers('base_values')),
  }),
  TreeEnsembleClassifier: classifierTables,
  TreeEnsemble: listedTrees,
};
