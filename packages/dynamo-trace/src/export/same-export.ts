/**
 * @file Whether two captures of an exported function return the same things from the same inputs.
 */
import {
  type ExportedGraph,
  type ExportedLeaf,
  type ResultLeaf,
  isResultLeaf,
  printSource,
  sameConstant,
} from '@tessera/graph';
import { treeFlatten, treePaths } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';

/** The first difference in words; null if there is none. */
export function sameExport(example: ExportedGraph, other: ExportedGraph): string | null {
  const names = (graph: ExportedGraph): string =>
    graph.inputs.map(({ source }) => printSource(source)).join(', ');
  if (names(example) !== names(other))
    return `the program reads ${names(other)} where it read ${names(example)}`;
  const one = treeFlatten(example.result, isResultLeaf);
  const two = treeFlatten(other.result, isResultLeaf);
  const paths = treePaths(one.spec);
  if (paths.join() !== treePaths(two.spec).join())
    return 'the program returns something of another structure';
  const differs = one.leaves.findIndex(
    (leaf, i) => !sameLeaf((leaf as ResultLeaf).leaf, (two.leaves[i] as ResultLeaf).leaf),
  );
  return differs < 0 ? null : `the program returns something else as result${paths[differs]!}`;
}

function sameLeaf(a: ExportedLeaf, b: ExportedLeaf): boolean {
  if ('output' in a) return 'output' in b && a.output === b.output;
  if ('input' in a) return 'input' in b && a.input === b.input;
  if (!('value' in b)) return false;
  return isTensor(a.value) && isTensor(b.value)
    ? sameConstant(a.value, b.value)
    : Object.is(a.value, b.value);
}
