/**
 * @file Trees of the three tree operators in one form: nodes in tables, a leaf is its own child.
 */
import { type NodeReader, type NodeTables, floatTable, intTable } from './node-tables.js';

/** How a node decides; the other three of a file are these with their branches exchanged. */
export const MODES = ['LEQ', 'LT', 'EQ', 'MEMBER'] as const;
type Mode = (typeof MODES)[number];

/** Modes of a file: which of ours, and whether the branches are exchanged. */
const FILE_MODES: Readonly<Record<string, readonly [Mode, boolean]>> = {
  BRANCH_LEQ: ['LEQ', false],
  BRANCH_LT: ['LT', false],
  BRANCH_GTE: ['LT', true],
  BRANCH_GT: ['LEQ', true],
  BRANCH_EQ: ['EQ', false],
  BRANCH_NEQ: ['EQ', true],
  BRANCH_MEMBER: ['MEMBER', false],
};

/** By number, as `TreeEnsemble` has them. */
const NUMBERED = ['LEQ', 'LT', 'GTE', 'GT', 'EQ', 'NEQ', 'MEMBER'].map((name) => `BRANCH_${name}`);

/** One node. */
interface TreeNode {
  readonly feature: number;
  readonly mode: string;
  readonly threshold: number;
  readonly onTrue: number;
  readonly onFalse: number;
  readonly missingIsTrue: boolean;
  readonly members?: readonly number[];
}

/** What a leaf adds to a target. */
interface LeafWeight {
  readonly node: number;
  readonly target: number;
  readonly weight: number;
}

interface Trees {
  readonly nodes: readonly (TreeNode | null)[];
  readonly roots: readonly number[];
  readonly weights: readonly LeafWeight[];
  readonly targets: number;
  readonly isDouble: boolean;
}

/** How many decisions lead to the farthest leaf; each node is looked at once. @throws onnx-invalid for trees with rings */
function depthOf(reader: NodeReader, { nodes, roots }: Trees): number {
  const depths = new Map<number, number>();
  const open = new Set<number>();
  const stack = [...roots];
  while (stack.length > 0) {
    const at = stack.at(-1)!;
    const node = nodes[at];
    if (node === undefined) reader.fail(`a branch leads to node ${at}, which there is not`);
    const children = node === null ? [] : [node.onTrue, node.onFalse];
    const unknown = depths.has(at) ? [] : children.filter((child) => !depths.has(child));
    if (unknown.length === 0) {
      if (!depths.has(at))
        depths.set(at, Math.max(0, ...children.map((child) => depths.get(child)! + 1)));
      open.delete(at);
      stack.pop();
    } else {
      open.add(at);
      if (unknown.some((child) => open.has(child)))
        reader.fail('a branch leads back to a node before it');
      stack.push(...unknown);
    }
  }
  return Math.max(0, ...roots.map((root) => depths.get(root)!));
}

/** Numbers in the table of weights, of nodes and targets: more are no model, but a way to take memory. */
const MOST_WEIGHTS = 2 ** 27;

/** Sums of weights [nodes, targets]; where only some targets have one and the largest counts, the rest is NaN. */
function weightTable({ nodes, weights, targets }: Trees, isExtreme: boolean): number[] {
  const table = Array<number>(nodes.length * targets).fill(isExtreme ? NaN : 0);
  for (const { node, target, weight } of weights) {
    const at = node * targets + target;
    table[at] = Number.isNaN(table[at]!) ? weight : table[at]! + weight;
  }
  return table;
}

/** The tables that `walk` reads. */
function tables(reader: NodeReader, trees: Trees, isExtreme: boolean): NodeTables {
  const { nodes, roots, targets, isDouble } = trees;
  if (!(Number.isInteger(targets) && targets > 0 && nodes.length * targets <= MOST_WEIGHTS))
    reader.fail(`${targets} targets of ${nodes.length} nodes`);
  for (const { target, node } of trees.weights)
    if (target < 0 || target >= targets || nodes[node] === undefined)
      reader.fail(`a weight for target ${target} at node ${node}`);
  const parts = nodes.map((node, i) => {
    if (node === null) return { mode: 0, yes: i, no: i, missing: 0 };
    const [mode, isExchanged] = FILE_MODES[node.mode] ?? reader.fail(`a node of ${node.mode}`);
    const [yes, no] = isExchanged ? [node.onFalse, node.onTrue] : [node.onTrue, node.onFalse];
    return { mode: MODES.indexOf(mode), yes, no, missing: +(node.missingIsTrue !== isExchanged) };
  });
  const modes = new Set(parts.flatMap(({ mode }, i) => (nodes[i] === null ? [] : [mode])));
  const features = nodes.map((node) => node?.feature ?? 0);
  if (features.some((feature) => feature < 0)) reader.fail('a feature has a negative number');
  const count = nodes.length;
  return {
    $roots: intTable(roots),
    $features: intTable(features),
    $children: intTable(parts.flatMap(({ yes, no }) => [no, yes])),
    $thresholds: floatTable(
      nodes.map((node) => node?.threshold ?? 0),
      [count],
      isDouble,
    ),
    $weights: floatTable(weightTable(trees, isExtreme), [count, targets], isDouble),
    $depth: { kind: 'int', value: depthOf(reader, trees) },
    $modes: { kind: 'ints', value: [...modes] },
    ...(modes.size > 1 && { $mode: intTable(parts.map(({ mode }) => mode)) }),
    ...(parts.some(({ missing }) => missing === 1) && {
      $missing: intTable(parts.map(({ missing }) => missing)),
    }),
    ...(modes.has(MODES.indexOf('MEMBER')) && setTables(nodes, isDouble)),
  };
}

/**
 * The sets of all nodes one behind the other, each sorted, where that of a node begins and ends, and the size of the
 * largest: no more memory than the file takes, however unequal the sets are.
 */
function setTables(nodes: Trees['nodes'], isDouble: boolean): NodeTables {
  const members: number[] = [];
  let largest = 0;
  const bounds = nodes.flatMap((node) => {
    const begin = members.length;
    for (const member of [...(node?.members ?? [])].sort((a, b) => a - b)) members.push(member);
    largest = Math.max(largest, members.length - begin);
    return [begin, members.length];
  });
  // A table is never empty; what is behind all sets is of none.
  members.push(NaN);
  return {
    $members: floatTable(members, [members.length], isDouble),
    $bounds: intTable(bounds),
    $largest: { kind: 'int', value: largest },
  };
}

/** Trees of `TreeEnsembleClassifier` and `TreeEnsembleRegressor`: nodes have a tree and a number in it. */
export function numberedTrees(
  reader: NodeReader,
  leaf: 'class' | 'target',
  targets: number,
): NodeTables {
  const trees = reader.some('nodes_treeids');
  const count = trees.length;
  const column = (name: string): readonly number[] => reader.some(`nodes_${name}`, count);
  const [numbers, features, values] = [column('nodeids'), column('featureids'), column('values')];
  const [onTrue, onFalse] = [column('truenodeids'), column('falsenodeids')];
  const missing = reader.numbers('nodes_missing_value_tracks_true') ?? [];
  const modes = reader.texts('nodes_modes') ?? reader.fail("attribute 'nodes_modes' is missing");
  const places = new Map(trees.map((tree, i) => [`${tree},${numbers[i]}`, i]));
  const place = (tree: number, number: number): number =>
    places.get(`${tree},${number}`) ?? reader.fail(`tree ${tree} has no node ${number}`);
  const nodes = trees.map((tree, i): TreeNode | null => {
    const mode = modes[i] ?? reader.fail(`${modes.length} modes for ${count} nodes`);
    if (mode === 'LEAF') return null;
    return {
      feature: features[i]!,
      mode,
      threshold: values[i]!,
      onTrue: place(tree, onTrue[i]!),
      onFalse: place(tree, onFalse[i]!),
      missingIsTrue: missing[i] === 1,
    };
  });
  // The root of a tree is the first of its nodes.
  const seen = new Set<number>();
  const roots = trees.flatMap((tree, i) => (seen.size < seen.add(tree).size ? [i] : []));
  const owners = reader.some(`${leaf}_treeids`);
  const leaves = reader.some(`${leaf}_nodeids`, owners.length);
  const targetsOf = reader.some(`${leaf}_ids`, owners.length);
  const amounts = reader.some(`${leaf}_weights`, owners.length);
  const weights = owners.map((tree, i) => ({
    node: place(tree, leaves[i]!),
    // Where leaves speak of one class of two only, that is the only column.
    target: targets === 1 ? 0 : targetsOf[i]!,
    weight: amounts[i]!,
  }));
  const isDouble = reader.isDouble('nodes_values') || reader.isDouble(`${leaf}_weights`);
  const aggregate = reader.text('aggregate_function', 'SUM');
  return tables(
    reader,
    { nodes, roots, weights, targets, isDouble },
    aggregate === 'MIN' || aggregate === 'MAX',
  );
}

/** Trees of `TreeEnsemble`: inner nodes, and leaves in a list of their own. */
export function listedTrees(reader: NodeReader): NodeTables {
  const features = reader.some('nodes_featureids');
  const count = features.length;
  const column = (name: string): readonly number[] => reader.some(`nodes_${name}`, count);
  const [modes, splits] = [column('modes'), column('splits')];
  const [onTrue, onFalse] = [column('truenodeids'), column('falsenodeids')];
  const [trueLeafs, falseLeafs] = [column('trueleafs'), column('falseleafs')];
  const missing = reader.numbers('nodes_missing_value_tracks_true') ?? [];
  const targetIds = reader.some('leaf_targetids');
  const amounts = reader.some('leaf_weights', targetIds.length);
  const sets = memberSets(reader.numbers('membership_values') ?? []);
  let nextSet = 0;
  const inner = features.map((feature, i): TreeNode => {
    const mode = NUMBERED[modes[i]!] ?? reader.fail(`a node of mode ${modes[i]}`);
    return {
      feature,
      mode,
      threshold: splits[i]!,
      onTrue: onTrue[i]! + (trueLeafs[i]! ? count : 0),
      onFalse: onFalse[i]! + (falseLeafs[i]! ? count : 0),
      missingIsTrue: missing[i] === 1,
      ...(mode === 'BRANCH_MEMBER' && { members: sets[nextSet++] ?? [] }),
    };
  });
  const aggregate = reader.number('aggregate_function', 1);
  return tables(
    reader,
    {
      nodes: [...inner, ...targetIds.map(() => null)],
      roots: reader.some('tree_roots'),
      weights: targetIds.map((target, i) => ({ node: count + i, target, weight: amounts[i]! })),
      targets: reader.number('n_targets', 1),
      isDouble: reader.isDouble('nodes_splits'),
    },
    aggregate >= 2,
  );
}

/** Sets of numbers, a NaN behind each. */
function memberSets(values: readonly number[]): number[][] {
  const sets: number[][] = [[]];
  for (const value of values)
    if (Number.isNaN(value)) sets.push([]);
    else sets.at(-1)!.push(value);
  return sets;
}
