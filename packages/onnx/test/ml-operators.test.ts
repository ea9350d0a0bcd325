/**
 * @file Operators of `ai.onnx.ml` give what onnxruntime gives, eager and compiled.
 */
import { compile } from '@tessera/compile';
import { type DType, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { importOnnx, registerOnnxOperator } from '../src/index.js';
import { type Attributes, model, value } from './support/build-model.js';
import {
  type Contrib,
  type Numbers,
  fileOf,
  given,
  inputsOf,
  noise,
} from './support/beside-onnxruntime.js';
import { type Case, describeLikeOnnxruntime, expectRefused } from './support/like-onnxruntime.js';
import { floatTensor, randomForest } from './support/random-forest.js';

const LABELS = ['int64', 'float32'] as const;
const ml = (
  op: string,
  inputs: readonly Numbers[],
  attributes: Attributes = {},
  outputs: readonly DType[] = ['float32'],
  domainVersion = 3,
): Contrib => ({ op, inputs, attributes, outputs, domain: 'ai.onnx.ml', domainVersion });

const floats = (...list: readonly number[]): Attributes[string] => ({ floats: list });
const sines = (count: number, seed: number): Attributes[string] => ({
  floats: noise([count], seed).data,
});
const x = noise([7, 5], 1);
/** A row of zeros, and a missing number in another. */
const withGaps = given(
  'float32',
  [7, 5],
  x.data.map((each, i) => (i >= 5 && i < 10 ? 0 : i === 17 ? NaN : each)),
);
const withZeros = given('float32', [2, 5], [...x.data.slice(0, 5), 0, 0, 0, 0, 0]);
const codes = given('int64', [2, 4], [0, 1, 3, 5, 2, 3, 1, 9]);

const features: Case[] = [
  ['Scaler', ml('Scaler', [x], { offset: sines(5, 2), scale: sines(5, 3) })],
  ['Scaler: of whole numbers', ml('Scaler', [codes], { offset: floats(0.5), scale: floats(2) })],
  ...['MAX', 'L1', 'L2'].map((norm): Case => [
    `Normalizer: ${norm}`,
    ml('Normalizer', [withZeros], { norm }),
  ]),
  ['Binarizer', ml('Binarizer', [x], { threshold: { float: 0.3 } })],
  [
    'Imputer: NaN',
    ml('Imputer', [withGaps], {
      imputed_value_floats: floats(1, 2, 3, 4, 5),
      replaced_value_float: { float: NaN },
    }),
  ],
  [
    'Imputer: whole numbers',
    ml('Imputer', [codes], { imputed_value_int64s: [7], replaced_value_int64: 1 }, ['int64']),
  ],
  ['FeatureVectorizer', ml('FeatureVectorizer', [x, x], { inputdimensions: [3, 7] })],
  ['ArrayFeatureExtractor', ml('ArrayFeatureExtractor', [x, given('int64', [2], [3, 1])])],
  [
    'ArrayFeatureExtractor: of a list',
    ml('ArrayFeatureExtractor', [noise([5], 1), given('int64', [1, 2], [3, 1])]),
  ],
  ['OneHotEncoder', ml('OneHotEncoder', [codes], { cats_int64s: [0, 1, 3] })],
  [
    'LabelEncoder',
    ml(
      'LabelEncoder',
      [codes],
      { keys_int64s: [5, 1, 3], values_int64s: [50, 10, 30] },
      ['int64'],
      2,
    ),
  ],
  [
    'LabelEncoder: to floats',
    ml(
      'LabelEncoder',
      [codes],
      { keys_int64s: [5, 1], values_floats: floats(0.5, 0.1), default_float: { float: 2.5 } },
      ['float32'],
      2,
    ),
  ],
  [
    'LabelEncoder: NaN is no key',
    ml(
      'LabelEncoder',
      [given('float32', [4], [0.5, NaN, 0.1, 7])],
      { keys_floats: floats(NaN, 0.5, 7), values_int64s: [1, 2, 3] },
      ['int64'],
      2,
    ),
  ],
];

const linear: Case[] = ['NONE', 'LOGISTIC', 'SOFTMAX', 'SOFTMAX_ZERO'].flatMap(
  (post_transform): Case[] => [
    [
      `LinearRegressor: ${post_transform}`,
      ml('LinearRegressor', [x], {
        ...{ coefficients: sines(15, 2), intercepts: sines(3, 3), targets: 3, post_transform },
      }),
    ],
    [
      `LinearClassifier: ${post_transform}`,
      ml(
        'LinearClassifier',
        [x],
        {
          coefficients: sines(15, 2),
          intercepts: sines(3, 3),
          ...{ classlabels_ints: [4, 7, 9], post_transform },
        },
        LABELS,
      ),
    ],
  ],
);
linear.push(
  ['LinearRegressor: one target', ml('LinearRegressor', [x], { coefficients: sines(5, 2) })],
  [
    'LinearClassifier: one score for two classes',
    ml(
      'LinearClassifier',
      [x],
      {
        coefficients: sines(5, 2),
        intercepts: floats(0.1),
        ...{ classlabels_ints: [4, 7], post_transform: 'LOGISTIC' },
      },
      LABELS,
    ),
  ],
);

const vectors = (counts: readonly number[], kernel_type: string, hasChances: boolean): Case => {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const pairs = (counts.length * (counts.length - 1)) / 2;
  return [
    `SVMClassifier: ${kernel_type}, ${counts.length} classes${hasChances ? ', chances' : ''}`,
    ml(
      'SVMClassifier',
      [x],
      {
        ...{ kernel_type, kernel_params: floats(0.3, 0.2, 3), vectors_per_class: counts },
        support_vectors: sines(total * 5, 4),
        coefficients: sines(total * (counts.length - 1), 5),
        rho: sines(pairs, 6),
        classlabels_ints: [3, 8, 5, 6].slice(0, counts.length),
        ...(hasChances && {
          prob_a: floats(...Array<number>(pairs).fill(-1.2)),
          prob_b: sines(pairs, 7),
        }),
      },
      LABELS,
    ),
  ];
};
const machines: Case[] = ['LINEAR', 'POLY', 'RBF', 'SIGMOID'].flatMap((kernel_type): Case[] => [
  vectors([2, 4], kernel_type, false),
  vectors([2, 1, 2, 1], kernel_type, true),
  ...[0, 1].map((one_class): Case => [
    `SVMRegressor: ${kernel_type}${one_class === 1 ? ', one class' : ''}`,
    ml('SVMRegressor', [x], {
      ...{ kernel_type, kernel_params: floats(0.3, 0.2, 3), n_supports: 6, one_class },
      support_vectors: sines(30, 4),
      coefficients: sines(6, 5),
      rho: floats(0.3),
    }),
  ]),
]);

const forest = (title: string, options: Parameters<typeof randomForest>[0], input = x): Case => [
  title,
  ml(...randomForest(options, input)),
];
const whole = given('float32', [2, 5], [0, 1, 2, -1, 0, 2, 1, 0, -1, 1]);
const trees: Case[] = [
  forest('regressor', { targets: 2, base: [0.5, 1.5] }),
  ...(['AVERAGE', 'MIN', 'MAX'] as const).map((aggregate) =>
    forest(`regressor: ${aggregate}`, { targets: 2, aggregate, isSparse: true }),
  ),
  ...['LEQ', 'LT', 'GTE', 'GT', 'EQ', 'NEQ'].map((mode) =>
    forest(`regressor: ${mode}`, { modes: [mode] }, whole),
  ),
  forest('regressor: modes of all kinds', { modes: ['LEQ', 'LT', 'GTE', 'GT'] }),
  forest('regressor: missing numbers', { modes: ['LEQ', 'GT'], tracksMissing: true }, withGaps),
  forest('classifier', { classes: 3, transform: 'SOFTMAX' }),
  forest('classifier: scores of one class', {
    classes: 2,
    only: 0,
    transform: 'LOGISTIC',
    base: [0.3],
  }),
  forest('classifier: chances of one class', { classes: 2, only: 0, isChance: true }),
  forest('classifier: scores of the second class', { classes: 2, only: 1 }),
  forest('ensemble of lists', { isListed: true, targets: 2 }),
  forest('ensemble of lists: sets', { isListed: true, modes: ['LEQ', 'MEMBER'] }, whole),
];

describeLikeOnnxruntime({ features, linear, machines, trees });

describe('labels that are texts', () => {
  const words = ml(
    'LinearClassifier',
    [x],
    {
      coefficients: sines(15, 2),
      intercepts: sines(3, 3),
      classlabels_strings: ['cat', 'dog', 'owl'],
    },
    LABELS,
  );
  it('are told by their place', async () => {
    const imported = await importOnnx(fileOf(words));
    const { out0, out1 } = imported.call(inputsOf(words));
    expect(out0!.toArray()).toEqual(out1!.argmax(1).toArray());
  });

  it('refuses texts that are looked up', async () => {
    const encoder = ml(
      'LabelEncoder',
      [codes],
      { keys_strings: ['a'], values_int64s: [1] },
      ['int64'],
      2,
    );
    await expectRefused(encoder, 'onnx-unsupported', /a list of texts \(keys_strings\)/);
  });
});

/** A tree of `count` nodes, the last of which is a leaf; a decision leads to the next two, and the last decision to `end`. */
const chain = (count: number, end: number): Attributes => {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const leads = (by: number): readonly number[] =>
    numbers.map((i) => (i === count - 2 ? end : Math.min(i + by, count - 1)));
  const zeros = numbers.map(() => 0);
  return {
    nodes_treeids: zeros,
    nodes_nodeids: numbers,
    nodes_featureids: zeros,
    nodes_values: { floats: zeros },
    nodes_modes: numbers.map((i) => (i === count - 1 ? 'LEAF' : 'BRANCH_LEQ')),
    nodes_truenodeids: leads(1),
    nodes_falsenodeids: leads(2),
    target_treeids: [0],
    target_nodeids: [count - 1],
    target_ids: [0],
    target_weights: { floats: [1] },
  };
};

it.each<[string, Attributes, RegExp]>([
  ['as many modes as nodes', { ...chain(3, 2), nodes_modes: ['LEAF'] }, /1 modes/],
  // Looked at level by level this would take a billion steps.
  ['branches that lead back', chain(40_000, 0), /a branch leads back to a node before it/],
  ['more targets than memory', { ...chain(3, 2), n_targets: 2 ** 40 }, /targets of 3 nodes/],
  ['no targets', { ...chain(3, 2), n_targets: 0 }, /0 targets of 3 nodes/],
])('a node without sense is an error that names it: %s', async (_, attributes, text) => {
  const broken = fileOf(ml('TreeEnsembleRegressor', [x], attributes));
  await expect(importOnnx(broken)).rejects.toThrow(/node 'TreeEnsembleRegressor:out0'/);
  await expect(importOnnx(broken)).rejects.toThrow(text);
});

it('nodes that several branches lead to are looked at once', async () => {
  const trees = ml('TreeEnsembleRegressor', [x], chain(40, 39));
  const imported = await importOnnx(fileOf(trees));
  const { out0 } = imported.call(inputsOf(trees));
  expect(out0!.toArray()).toEqual(Array.from({ length: 7 }, () => [1]));
});

it('sets take the memory of their numbers, however unequal they are', async () => {
  // As many numbers for each node as the largest set has would be 3 GB.
  const count = 20_000;
  const nodes = Array.from({ length: count }, (_, i) => i);
  const same = (each: number): number[] => nodes.map(() => each);
  const trees = ml(
    'TreeEnsemble',
    [given('float32', [3, 1], [7, 30_000, 0.5])],
    {
      tree_roots: nodes,
      nodes_featureids: same(0),
      nodes_modes: same(6),
      nodes_splits: floatTensor(same(0)),
      ...{ nodes_truenodeids: same(0), nodes_trueleafs: same(1) },
      ...{ nodes_falsenodeids: same(1), nodes_falseleafs: same(1) },
      leaf_targetids: [0, 0],
      leaf_weights: floatTensor([1, 0]),
      n_targets: 1,
      // Each node has a number of its own, the last all of them and as many more.
      membership_values: floatTensor([
        ...nodes.slice(1).flatMap((i) => [i, NaN]),
        ...[...nodes, ...nodes.map((i) => i + count)].reverse(),
        NaN,
      ]),
    },
    ['float32'],
    5,
  );
  const { out0 } = (await importOnnx(fileOf(trees))).call(inputsOf(trees));
  expect(out0!.toArray()).toEqual([[2], [1], [0]]);
});

it('a pipeline compiles to one graph for all numbers of rows, and gradients reach its input', async () => {
  const [op, , attributes] = randomForest({ classes: 3 }, x);
  const bytes = model(
    {
      inputs: [value('x', ['N', 5])],
      outputs: [value('label', ['N'], 7), value('scores', ['N', 3])],
      nodes: [
        {
          op: 'Scaler',
          in: ['x'],
          out: ['scaled'],
          domain: 'ai.onnx.ml',
          attributes: { scale: sines(5, 3), offset: floats(0.1) },
        },
        { op, in: ['scaled'], out: ['label', 'chances'], domain: 'ai.onnx.ml', attributes },
        { op: 'ReduceMean', in: ['scaled'], out: ['mean'], attributes: { axes: [1], keepdims: 1 } },
        { op: 'Mul', in: ['chances', 'mean'], out: ['scores'] },
      ],
    },
    17,
    [['ai.onnx.ml', 3]],
  );
  const imported = await importOnnx(bytes);
  const run = compile((rows: ReturnType<typeof tensor>) => imported.call(rows));
  for (const count of [2, 3, 7]) {
    const rows = tensor(x.data.slice(0, 5 * count))
      .reshape([count, 5])
      .requiresGrad_();
    const [own, wanted] = [run(rows), imported.call(rows.detach())];
    expect(own.label!.toArray()).toEqual(wanted.label!.toArray());
    own.scores!.sum().backward();
    expect(rows.grad!.abs().sum().item()).toBeGreaterThan(0);
  }
});

it('an operator from outside stays in its place when ours are loaded', async () => {
  registerOnnxOperator('ai.onnx.ml', 'CastMap', (call) => call.tensor(0).mul(2));
  registerOnnxOperator('ai.onnx.ml', 'Binarizer', (call) => call.tensor(0).mul(3));
  const node = ml('Binarizer', [x]);
  const { out0 } = (await importOnnx(fileOf(node))).call(inputsOf(node));
  expect(out0!.select(0, 0).toArray()).toEqual(
    x.data.slice(0, 5).map((each) => Math.fround(each * 3)),
  );
});
