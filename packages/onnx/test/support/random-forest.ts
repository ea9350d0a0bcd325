/**
 * @file Trees without a pattern, the same every time, as attributes of the tree operators.
 */
import type { DType } from '@tessera/tensor';
import type { Attributes } from './build-model.js';
import { type Numbers, noise } from './beside-onnxruntime.js';
import { create } from '@bufbuild/protobuf';
import { type TensorProto, TensorProtoSchema } from '../../src/generated/onnx_pb.js';

/** What kind of trees. */
export interface Forest {
  readonly targets?: number;
  /** Classes: then it is a classifier. */
  readonly classes?: number;
  /** The only class that leaves speak of. */
  readonly only?: number;
  readonly isChance?: boolean;
  readonly modes?: readonly string[];
  readonly aggregate?: 'AVERAGE' | 'MIN' | 'MAX';
  readonly transform?: string;
  readonly base?: readonly number[];
  readonly tracksMissing?: boolean;
  /** Leaves speak of some targets only. */
  readonly isSparse?: boolean;
  /** In the form of `TreeEnsemble`. */
  readonly isListed?: boolean;
}

/** An operator, its inputs, attributes, outputs, and the version of its domain. */
type Call = [string, Numbers[], Attributes, DType[], number];

const TREES = 3;
const DEPTH = 3;
/** Nodes of a whole tree: the children of node i are 2i + 1 and 2i + 2. */
const INNER = 2 ** DEPTH - 1;
const NODES = 2 * INNER + 1;
const NAMES = ['LEQ', 'LT', 'GTE', 'GT', 'EQ', 'NEQ', 'MEMBER'];

const list = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
/** A tensor of raw bytes. */
const table = (dataType: number, rawData: Uint8Array, count: number): TensorProto =>
  create(TensorProtoSchema, { dims: [BigInt(count)], dataType, rawData });
/** Floats as a tensor. */
export const floatTensor = (values: readonly number[]): TensorProto =>
  table(1, new Uint8Array(Float32Array.from(values).buffer), values.length);

/** See the file header: whole trees of three levels. */
export function randomForest(forest: Forest, x: Numbers): Call {
  const width = x.dims[1]!;
  const modes = forest.modes ?? ['LEQ'];
  const isWhole = x.data.every(Number.isInteger);
  const split = noise([TREES * NODES], 11).data.map((each) => (isWhole ? Math.round(each) : each));
  if (forest.isListed === true) return listed(forest, x, modes, split);
  const nodes = list(TREES * NODES).map((i) => ({ tree: Math.floor(i / NODES), id: i % NODES }));
  const isLeaf = ({ id }: { readonly id: number }): boolean => id >= INNER;
  const leaf = forest.classes === undefined ? 'target' : 'class';
  const targets = list(forest.classes ?? forest.targets ?? 1);
  const said = nodes.filter(isLeaf).flatMap(({ tree, id }, i) =>
    targets
      .filter((target) => (forest.only ?? target) === target)
      .filter((target) => forest.isSparse !== true || (i + target) % 3 > 0)
      .map((target) => ({ tree, id, target })),
  );
  const weights = noise([said.length], 12).data.map((each) =>
    forest.isChance === true ? Math.abs(each) * 0.3 : each,
  );
  const attributes: Attributes = {
    nodes_treeids: nodes.map(({ tree }) => tree),
    nodes_nodeids: nodes.map(({ id }) => id),
    nodes_featureids: nodes.map(({ id }, i) => (id * 3 + i) % width),
    nodes_modes: nodes.map((node, i) =>
      isLeaf(node) ? 'LEAF' : `BRANCH_${modes[i % modes.length]}`,
    ),
    nodes_values: { floats: split },
    nodes_truenodeids: nodes.map((node) => (isLeaf(node) ? 0 : node.id * 2 + 1)),
    nodes_falsenodeids: nodes.map((node) => (isLeaf(node) ? 0 : node.id * 2 + 2)),
    nodes_missing_value_tracks_true: nodes.map((_, i) =>
      forest.tracksMissing === true ? i % 2 : 0,
    ),
    [`${leaf}_treeids`]: said.map(({ tree }) => tree),
    [`${leaf}_nodeids`]: said.map(({ id }) => id),
    [`${leaf}_ids`]: said.map(({ target }) => target),
    [`${leaf}_weights`]: { floats: weights },
    post_transform: forest.transform ?? 'NONE',
    ...(forest.base !== undefined && { base_values: { floats: forest.base } }),
    ...(leaf === 'target' && {
      n_targets: targets.length,
      aggregate_function: forest.aggregate ?? 'SUM',
    }),
    ...(leaf === 'class' && { classlabels_int64s: targets.map((target) => target + 10) }),
  };
  return leaf === 'class'
    ? ['TreeEnsembleClassifier', [x], attributes, ['int64', 'float32'], 3]
    : ['TreeEnsembleRegressor', [x], attributes, ['float32'], 3];
}

function listed(
  forest: Forest,
  x: Numbers,
  modes: readonly string[],
  split: readonly number[],
): Call {
  const inner = list(TREES * INNER);
  const child = (side: number): { ids: number[]; leafs: number[] } => {
    const places = inner.map((i) => {
      const id = (i % INNER) * 2 + side;
      const tree = Math.floor(i / INNER);
      return id < INNER
        ? { id: tree * INNER + id, leaf: 0 }
        : { id: tree * (INNER + 1) + id - INNER, leaf: 1 };
    });
    return { ids: places.map(({ id }) => id), leafs: places.map(({ leaf }) => leaf) };
  };
  const [yes, no] = [child(1), child(2)];
  const modeOf = inner.map((i) => NAMES.indexOf(modes[i % modes.length]!));
  const leaves = list(TREES * (INNER + 1));
  const sets = modeOf.flatMap((mode, i) =>
    mode === 6
      ? [...list(1 + (i % 6)).map((j) => x.data[(i * (1 + 3 * j)) % x.data.length]!), NaN]
      : [],
  );
  const attributes: Attributes = {
    tree_roots: list(TREES).map((tree) => tree * INNER),
    nodes_featureids: inner.map((i) => (i * 3) % x.dims[1]!),
    nodes_modes: table(2, Uint8Array.from(modeOf), modeOf.length),
    nodes_splits: floatTensor(inner.map((i) => split[i]!)),
    ...{ nodes_truenodeids: yes.ids, nodes_trueleafs: yes.leafs },
    ...{ nodes_falsenodeids: no.ids, nodes_falseleafs: no.leafs },
    leaf_targetids: leaves.map((i) => i % (forest.targets ?? 1)),
    leaf_weights: floatTensor(noise([leaves.length], 12).data),
    n_targets: forest.targets ?? 1,
    ...(sets.length > 0 && { membership_values: floatTensor(sets) }),
  };
  return ['TreeEnsemble', [x], attributes, ['float32'], 5];
}
