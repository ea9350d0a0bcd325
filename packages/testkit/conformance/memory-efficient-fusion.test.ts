/**
 * @file Memory-efficient fusion and common subexpressions: one test per row of the conformance list.
 */
import { test } from 'vitest';
import { ACTIVATIONS, matchesEager } from './memory-efficient-fusion/activations.js';
import {
  drawsLikeTensor,
  drawsOfShape,
  emptyFunction,
  integersAndFloats,
  listsAreCompared,
  manyMerge,
  nothingToMerge,
  optionsAreCompared,
  randomProgramsNeverGrow,
  sameArgumentsMerge,
} from './memory-efficient-fusion/common-subexpressions.js';
import { devices } from './support/devices.js';

const rows = ACTIVATIONS.flatMap((row) =>
  devices.map((device) => [row.name, device, row] as const),
);
// The largest row moves gigabytes.
const timeout = 300_000;
test.each(rows)('%s (%s)', { timeout }, async (_name, device, row) => matchesEager(row, device));

test('test_nochange', nothingToMerge);
test('test_empty', emptyFunction);
test('test_rand_like', drawsLikeTensor);
test('test_rand_n', drawsOfShape);
test('test_hash_with_numbers', integersAndFloats);
test('test_two_args', sameArgumentsMerge);
test('test_simple_multiple_same_ops', manyMerge);
test('test_nested_immutable_list_type', listsAreCompared);
test('test_kwarg', optionsAreCompared);
test('test_random', randomProgramsNeverGrow);
