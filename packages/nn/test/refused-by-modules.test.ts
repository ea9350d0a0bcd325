/** @file What programs ported from PyTorch get wrong with modules: errors that say what to write, never a result. */
import { TesseraError } from '@tessera/shared';
import { ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Normal } from '../src/distributions/index.js';
import * as nn from '../src/index.js';

const { functional: F } = nn;

/** The error of a call, with its hints. */
function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(TesseraError);
    return (error as TesseraError).message;
  }
  throw new Error('nothing was thrown');
}

const x = ones([2, 2, 3]);
const state = ones([1, 2, 4]);
const image = ones([1, 1, 2, 2]);
const rows = tensor([[0, 1]], { dtype: 'int64' });
const sgd = (): nn.optim.SGD => new nn.optim.SGD(new nn.Linear(2, 2).parameters(), { lr: 1 });
/** Types forbid these calls. */
const any = (value: unknown): never => value as never;

describe('states that recurrent modules cannot begin with', () => {
  it.each<[string, () => unknown]>([
    ['a tensor for an LSTM', () => new nn.LSTM(3, 4).call(x, any(state))],
    ['a hidden state alone', () => new nn.LSTM(3, 4).call(x, any([state]))],
    ['a tensor for a cell', () => new nn.LSTMCell(3, 4).call(ones([2, 3]), any(ones([2, 4])))],
  ])('%s', (_name, call) => {
    expect(refusal(call)).toContain('[hidden, cell]');
  });

  it.each<[string, () => unknown]>([
    ['a pair for a GRU', () => new nn.GRU(3, 4).call(x, any([state, state]))],
    ['a pair for a cell', () => new nn.GRUCell(3, 4).call(ones([2, 3]), any([ones([2, 4])]))],
  ])('%s', (_name, call) => {
    expect(refusal(call)).toContain('one tensor');
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
    expect(refusal(call)).toContain(expected);
  });
});

describe('what is given by position', () => {
  it.each<[string, () => unknown]>([
    ['LeakyReLU(negativeSlope)', () => new nn.LeakyReLU(any({ negativeSlope: 0.2 }))],
    ['ELU(alpha)', () => new nn.ELU(any({ alpha: 2 }))],
    ['Hardtanh(minVal, maxVal)', () => new nn.Hardtanh(any({ minVal: -2 }))],
    ['Softplus(beta, threshold)', () => new nn.Softplus(any({ beta: 2 }))],
    ['Flatten(startDim, endDim)', () => new nn.Flatten(any({ startDim: 0 }))],
    ['Softmax(dim)', () => new nn.Softmax(any({ dim: 1 }))],
  ])('%s is not taken from an object', (written, call) => {
    expect(refusal(call)).toContain(`new ${written}`);
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
    const text = refusal(call);
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
    expect(refusal(call)).toContain(expected);
  });
});
