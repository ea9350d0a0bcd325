/** @file What programs ported from PyTorch get wrong with modules: errors that say what to write, never a result. */
import { ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Normal } from '../src/distributions/index.js';
import * as nn from '../src/index.js';
import { any, refusalWithHints } from './refusal.js';

const { functional: F } = nn;

const x = ones([2, 2, 3]);
const state = ones([1, 2, 4]);
const image = ones([1, 1, 2, 2]);
const rows = tensor([[0, 1]], { dtype: 'int64' });
const sgd = (): nn.optim.SGD => new nn.optim.SGD(new nn.Linear(2, 2).parameters(), { lr: 1 });

describe('states that recurrent modules cannot begin with', () => {
  it.each<[string, () => unknown]>([
    ['a tensor for an LSTM', () => new nn.LSTM(3, 4).call(x, any(state))],
    ['a hidden state alone', () => new nn.LSTM(3, 4).call(x, any([state]))],
    ['a tensor for a cell', () => new nn.LSTMCell(3, 4).call(ones([2, 3]), any(ones([2, 4])))],
  ])('%s', (_name, call) => {
    expect(refusalWithHints(call)).toContain('[hidden, cell]');
  });

  it.each<[string, () => unknown]>([
    ['a pair for a GRU', () => new nn.GRU(3, 4).call(x, any([state, state]))],
    ['a pair for a cell', () => new nn.GRUCell(3, 4).call(ones([2, 3]), any([ones([2, 4])]))],
  ])('%s', (_name, call) => {
    expect(refusalWithHints(call)).toContain('one tensor');
  });
});

describe('words that an option does not know', () => {
  it.each<[string, () => unknown, string]>([
    ['interpolate', () => F.interpolate(image, { size: 3, mode: any('foo') }), "'bilinear'"],
    ['Upsample', () => new nn.Upsample({ scaleFactor: 2, mode: any('foo') }).call(image), "'area'"],
    ['kaimingNormal_', () => nn.init.kaimingNormal_(image, { mode: any('foo') }), "'fan_out'"],
    ['RNN', () => new nn.RNN(3, 4, { nonlinearity: any('foo') }), "'tanh', 'relu'"],
    ['RNNCell', () => new nn.RNNCell(3, 4, { nonlinearity: any('foo') }), "'tanh', 'relu'"],
    ['EmbeddingBag', () => new nn.EmbeddingBag(3, 4, { mode: any('avg') }).call(rows), "'mean'"],
  ])('%s names those it knows', (_name, call, expected) => {
    expect(refusalWithHints(call)).toContain(expected);
  });
});

describe('what is given by position', () => {
  it.each<[string, () => unknown]>([
    ['Flatten(startDim, endDim)', () => new nn.Flatten(any({ startDim: 0 }))],
    ['Softmax(dim)', () => new nn.Softmax(any({ dim: 1 }))],
  ])('%s is not taken from an object', (written, call) => {
    expect(refusalWithHints(call)).toContain(`new ${written}`);
  });
});

const parameter = (): nn.Parameter => new nn.Parameter(ones([2, 2]));

describe('parameters and options that no optimizer takes', () => {
  const { SGD, Muon, LBFGS, Rprop, Adafactor } = nn.optim;
  it.each<[string, () => unknown, string]>([
    ['a group without parameters', () => new SGD(any([{ lr: 1 }])), 'not undefined'],
    ['a group of null', () => new SGD(any([{ params: null }])), 'not null'],
    ['a group of a number', () => new LBFGS(any([{ params: 5 }])), 'not 5'],
    ['a group without parameters for Muon', () => new Muon(any([{ lr: 1 }])), 'not undefined'],
    ['null among parameters', () => new Muon(any([null])), 'not null'],
    ['null among parameters of LBFGS', () => new LBFGS(any([null])), 'not null'],
    ['null as options', () => new LBFGS([parameter()], any(null)), 'not null'],
    [
      'a rule of another name',
      () => new Muon([parameter()], { adjustLrFn: any('arbitrary') }),
      'Adjust learning rate function arbitrary is not supported',
    ],
    [
      'no coefficients',
      () => new Muon([parameter()], { nsCoefficients: any(null) }),
      'nsCoefficients',
    ],
    [
      'factors that do not surround 1',
      () => new Rprop([parameter()], { etas: [1, 0.5] }),
      'Invalid eta values: 1, 0.5',
    ],
    ['one factor', () => new Rprop([parameter()], { etas: any(1) }), 'Invalid etas value: 1'],
    [
      'a decay that grows',
      () => new Adafactor([parameter()], { beta2Decay: 0.8 }),
      'beta2Decay should be <= 0 but is: 0.8',
    ],
    [
      'a negative square',
      () => new Adafactor([parameter()], { eps: [-1e-30, 1e-3] }),
      'epsilon1 should be >= 0 but is: -1e-30',
    ],
    [
      'no threshold',
      () => new Adafactor([parameter()], { d: 0 }),
      'Clipping threshold d should be >= 1 but is: 0',
    ],
    ['one eps', () => new Adafactor([parameter()], { eps: any(1) }), 'Invalid eps value: 1'],
  ])('%s', (_name, call, expected) => {
    expect(refusalWithHints(call)).toContain(expected);
  });
});

describe('options that a schedule needs', () => {
  const { lrScheduler: L } = nn;
  it.each<[string, () => unknown, string]>([
    ['StepLR', () => new L.StepLR(sgd(), any({})), "missing 1 required option: 'stepSize'"],
    [
      'MultiStepLR',
      () => new L.MultiStepLR(sgd(), { milestones: any(3) }),
      'milestones must be a list, not 3',
    ],
    [
      'ExponentialLR',
      () => new L.ExponentialLR(sgd(), any({})),
      "missing 1 required option: 'gamma'",
    ],
    ['CosineAnnealingLR', () => new L.CosineAnnealingLR(sgd(), any({ etaMin: 1 })), "'tMax'"],
    [
      'CosineAnnealingWarmRestarts',
      () => new L.CosineAnnealingWarmRestarts(sgd(), any({})),
      "'t0'",
    ],
    ['CyclicLR', () => new L.CyclicLR(sgd(), any({ baseLr: 1 })), "'maxLr'"],
    ['OneCycleLR', () => new L.OneCycleLR(sgd(), any({ totalSteps: 3 })), "'maxLr'"],
    ['SequentialLR', () => new L.SequentialLR(sgd(), any({ milestones: [] })), "'schedulers'"],
    [
      'ChainedScheduler',
      () => new L.ChainedScheduler(sgd(), { schedulers: any(1) }),
      'schedulers must be a list, not 1',
    ],
    ['SWALR', () => new nn.optim.swaUtils.SWALR(sgd(), any({})), "'swaLr'"],
    [
      'LambdaLR',
      () => new L.LambdaLR(sgd(), any(undefined)),
      'Expected 1 lrLambdas, but got undefined',
    ],
    [
      'MultiplicativeLR',
      () => new L.MultiplicativeLR(sgd(), any(3)),
      'Expected 1 lrLambdas, but got 3',
    ],
  ])('%s', (_name, call, expected) => {
    expect(refusalWithHints(call)).toContain(expected);
  });
});

describe('other mistakes', () => {
  it.each<[string, () => unknown, string | RegExp]>([
    [
      'a schedule without options',
      () => new nn.lrScheduler.StepLR(sgd(), any(undefined)),
      /stepSize/,
    ],
    ['another one', () => new nn.lrScheduler.MultiStepLR(sgd(), any(undefined)), /milestones/],
    ['no metric', () => new nn.lrScheduler.ReduceLROnPlateau(sgd()).step(any(undefined)), 'item()'],
    [
      'a tensor as metric',
      () => new nn.lrScheduler.ReduceLROnPlateau(sgd()).step(any(x)),
      'item()',
    ],
    ['no hook', () => new nn.Linear(2, 2).registerForwardHook(any(undefined)), 'function'],
    [
      "a parameter's name for a buffer",
      () => new nn.Linear(2, 2).registerBuffer('weight', x),
      /parameter/,
    ],
    [
      "a submodule's name for a buffer",
      () => new nn.Sequential(new nn.ReLU()).registerBuffer('0', x),
      /submodule/,
    ],
    ['a count of samples', () => new Normal(0, 1).sample(any(3)), '[3]'],
    ['a number as value', () => new Normal(0, 1).logProb(any(3)), 'tensor(3)'],
    [
      'weights in an object',
      () =>
        new nn.EmbeddingBag(3, 4, { mode: 'sum' }).call(rows, null, any({ perSampleWeights: x })),
      /weight per index/,
    ],
  ])('%s', (_name, call, expected) => {
    const text = refusalWithHints(call);
    if (typeof expected === 'string') expect(text).toContain(expected);
    else expect(text).toMatch(expected);
  });
});

describe('what containers and parameters cannot hold', () => {
  it.each<[string, () => unknown, string]>([
    ['numbers in a ModuleList', () => new nn.ModuleList(any([1])), "'0' is number, not a module"],
    ['a tensor behind others', () => new nn.ModuleList().append(any(x)), "'0' is object"],
    ['a number in a ModuleDict', () => new nn.ModuleDict(any({ a: 1 })), "'a' is number"],
    ['an array as a Parameter', () => new nn.Parameter(any([1])), 'new Parameter(tensor('],
    ['nothing as a Parameter', () => new nn.Parameter(any(undefined)), 'not undefined'],
    ['numbers in a ParameterList', () => new nn.ParameterList(any([1])), 'must be a tensor'],
    ['a tensor of sequences', () => nn.padSequence(any(x)), 'unbind()'],
    ['numbers for sequences', () => nn.packSequence(any([1, 2])), 'a list of tensors'],
  ])('%s', (_name, call, expected) => {
    expect(refusalWithHints(call)).toContain(expected);
  });
});

describe('what PyTorch refuses by value', () => {
  const [a, flat] = [ones([2, 3]), ones([3])];
  const reduction = any('abc');
  const labels = tensor([1, 2], { dtype: 'int64' });
  const kinds = 'abc is not a valid value for reduction';
  it.each<[string, () => unknown, string]>([
    ['gaussianNllLoss', () => F.gaussianNllLoss(a, a, a, { reduction }), kinds],
    ['multilabelSoftMarginLoss', () => F.multilabelSoftMarginLoss(a, a, { reduction }), kinds],
    [
      'tripletMarginWithDistanceLoss',
      () => F.tripletMarginWithDistanceLoss(a, a, a, { reduction }),
      kinds,
    ],
    [
      'ctcLoss',
      () => F.ctcLoss(ones([4, 1, 3]), labels.reshape([1, 2]), [4], [2], { reduction }),
      kinds,
    ],
    [
      'a margin of nothing',
      () => F.tripletMarginWithDistanceLoss(a, a, a, { margin: 0 }),
      'margin must be greater than 0, got 0',
    ],
    [
      'an anchor of another rank',
      () => F.tripletMarginWithDistanceLoss(flat, a, a),
      'The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor 1D, positive 2D, and negative 2D inputs',
    ],
    [
      'slopes the wrong way round',
      () => F.rrelu(a, { lower: 0.3, upper: 0.1 }),
      'Lower bound should be less than or equal to the upper bound',
    ],
    [
      'limits the wrong way round',
      () => F.hardtanh(a, { minVal: 1, maxVal: 0.5 }),
      'min_val cannot be greater than max_val',
    ],
    [
      'limits the wrong way round, of a module',
      () => new nn.Hardtanh(1, -1),
      'max_val (-1) must be greater than min_val (1)',
    ],
    [
      'a matrix without places',
      () => F.localResponseNorm(a, 3),
      'Expected 3D or higher dimensionality input (got 2 dimensions)',
    ],
    ['floats for a class', () => F.multiMarginLoss(a, ones([2])), 'scalar type Long'],
    ['floats for classes', () => F.multilabelMarginLoss(a, a), 'scalar type Long'],
    [
      'classes of nothing',
      () => F.multilabelMarginLoss(ones([0]), tensor([], { dtype: 'int64' })),
      'Expected non-empty vector or matrix with optional 0-dim batch size, but got: [0]',
    ],
    [
      'features that a cell does not have',
      () => new nn.GRUCell(3, 4).call(ones([2, 5])),
      'GRUCell: input has inconsistent input_size: got 5 expected 3',
    ],
    [
      'one state for several rows',
      () => new nn.RNNCell(3, 4).call(a, ones([1, 4])),
      "RNNCell: Input batch size 2 doesn't match hidden0 batch size 1",
    ],
    [
      'a cell state of another size',
      () => new nn.LSTMCell(3, 4).call(a, [ones([2, 4]), ones([2, 1])]),
      'LSTMCell: hidden1 has inconsistent hidden_size: got 1, expected 4',
    ],
    [
      'one step size of Rprop',
      () => new nn.optim.Rprop([new nn.Parameter(a)], { stepSizes: any(3) }),
      'Invalid stepSizes value: 3',
    ],
    [
      'a rate of LBFGS in quotes',
      () => new nn.optim.LBFGS([new nn.Parameter(a)], { lr: any('0.1') }),
      "Invalid lr value: '0.1'",
    ],
  ])('%s', (_name, call, expected) => {
    expect(refusalWithHints(call)).toContain(expected);
  });
});
