/**
 * @file Linear models: one sum of features for each target or class.
 */
import type { Tensor } from '@tessera/tensor';
import type { NodeCall } from '../../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../../registry.js';
import { constantOf, optionalConstant, rowsOf } from './constants.js';
import { type NodeReader, type NodeTables, floatTable, intTable } from './node-tables.js';
import {
  asScores,
  labelCount,
  labelOfLargest,
  labelled,
  pair,
  transformOf,
  transformed,
} from './scores.js';

/** Scores [N, C] of rows [N, F]. */
function sums(call: NodeCall): Tensor {
  const x = rowsOf(call);
  const weights = constantOf(call, '$coefficients').to(x.dtype);
  const intercepts = optionalConstant(call, '$intercepts');
  const product = x.matmul(weights.t());
  return intercepts === null ? product : product.add(intercepts.to(x.dtype));
}

function linearRegressor(call: NodeCall): Tensor {
  return asScores(call, transformed(sums(call), transformOf(call)));
}

/** One score that decides between two classes becomes two: as a chance, but for SOFTMAX as a score. */
function linearClassifier(call: NodeCall): Tensor[] {
  const scores = asScores(call, sums(call));
  const transform = transformOf(call);
  if (scores.shape[1] !== 1 || labelCount(call, 'classlabels_ints') !== 2)
    return [labelOfLargest(call, scores), transformed(scores, transform)];
  const isSecond = scores.select(1, 0).gt(0).to('int64');
  const chance = transform === 'LOGISTIC' ? scores.sigmoid() : scores;
  const both = transform.startsWith('SOFTMAX')
    ? transformed(pair(scores.neg(), scores), transform)
    : pair(chance.neg().add(1), chance);
  return [labelled(call, isSecond), both];
}

/** Operators with one output. */
export const linearOperators: OperatorTable = { LinearRegressor: linearRegressor };
/** Operators with several outputs. */
export const linearLists: ListOperatorTable = { LinearClassifier: linearClassifier };

/** Labels of classes as a table, where they are numbers. */
export function labelTable(reader: NodeReader, name = 'classlabels_int64s'): NodeTables {
  const labels = reader.numbers(name);
  return labels === null || labels.length === 0 ? {} : { $labels: intTable(labels) };
}

function linearTables(reader: NodeReader, targets: number): NodeTables {
  const coefficients = reader.some('coefficients');
  const intercepts = reader.numbers('intercepts');
  const width = coefficients.length / targets;
  if (!Number.isInteger(width)) reader.fail(`${coefficients.length} coefficients for ${targets}`);
  return {
    $coefficients: floatTable(coefficients, [targets, width]),
    ...(intercepts !== null && intercepts.length > 0 && { $intercepts: floatTable(intercepts) }),
  };
}

/** What each operator reads besides its own attributes. */
export const linearModelTables: Readonly<Record<string, (reader: NodeReader) => NodeTables>> = {
  LinearRegressor: (reader) => linearTables(reader, reader.number('targets', 1)),
  LinearClassifier: (reader) => ({
    ...linearTables(reader, reader.numbers('intercepts')?.length ?? 1),
    ...labelTable(reader, 'classlabels_ints'),
  }),
};
