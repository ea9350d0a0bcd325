/**
 * @file Modules refuse options that they do not have.
 */
import { describe, expect, it } from 'vitest';
import { TesseraError } from '@tessera/shared';
import * as nn from '../src/index.js';

type AnyModule = new (...args: unknown[]) => nn.Module;

/** Arguments that come before the options. */
const before: Readonly<Record<string, readonly unknown[]>> = {
  AdaptiveMaxPool1d: [2],
  AdaptiveMaxPool2d: [2],
  AdaptiveMaxPool3d: [2],
  Bilinear: [2, 2, 2],
  CELU: [1],
  ELU: [1],
  Fold: [[4, 4], 2],
  GroupNorm: [1, 2],
  Hardtanh: [-1, 1],
  LPPool1d: [2, 2],
  LPPool2d: [2, 2],
  LPPool3d: [2, 2],
  LeakyReLU: [0.1],
  LinearCrossEntropyLoss: [2, 2],
  MultiheadAttention: [4, 2],
  RReLU: [0.1, 0.2],
  Threshold: [0, 1],
  TransformerDecoderLayer: [4, 2],
  TransformerEncoderLayer: [4, 2],
};

/** Options that keep large modules small. */
const small: Readonly<Record<string, object>> = {
  FractionalMaxPool2d: { outputSize: 1 },
  FractionalMaxPool3d: { outputSize: 1 },
  Transformer: { dModel: 4, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1, dimFeedforward: 4 },
  TransformerDecoderLayer: { dimFeedforward: 4 },
  TransformerEncoderLayer: { dimFeedforward: 4 },
};

/** How many numbers come before the options of the others, by the parameters that their constructors name. */
function argumentsOf(name: string, type: AnyModule): readonly unknown[] {
  if (before[name] !== undefined) return before[name];
  if (/^Lazy.*Norm/.test(name)) return [];
  if (name.startsWith('LazyConv')) return [2, 1];
  if (name === 'AdaptiveLogSoftmaxWithLoss') return [4, 6, [2]];
  if (/^Conv|^Embedding$|^EmbeddingBag$/.test(name))
    return name.startsWith('C') ? [2, 2, 1] : [3, 2];
  if (/^(Linear|NonDynamically.*|RNN|LSTM|GRU|RNNCell|LSTMCell|GRUCell)$/.test(name)) return [2, 2];
  if (
    /Loss|^Upsampl|^CosineSimilarity|^PairwiseDistance|^Transformer$|^ReLU6?$|^SELU$|^Hardsigmoid$|^SiLU$|^Mish$|^Hardswish$|^GELU$|^Softplus$|shrink$/.test(
      name,
    )
  )
    return [];
  return type.name.includes('Dropout') ? [0.5] : [2];
}

const types = Object.entries(nn).filter(
  ([, value]) =>
    typeof value === 'function' &&
    value.prototype instanceof nn.Module &&
    Object.hasOwn(value, 'prototype') &&
    'optionNames' in value,
) as unknown as [string, AnyModule & { optionNames: Record<string, true> }][];

function thrown(fn: () => unknown): TesseraError {
  try {
    fn();
  } catch (error) {
    if (error instanceof TesseraError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('options that a module does not have', () => {
  it('are refused by every module with options', () => {
    expect(types.length).toBeGreaterThan(60);
    for (const [name, type] of types) {
      const make = (options: object) => () =>
        new type(...argumentsOf(name, type), { ...small[name], ...options });
      expect(make({}), name).not.toThrow();
      const error = thrown(make({ nonsense: 1 }));
      expect(error.message.split('\n')[0], name).toBe(`${name} has no option 'nonsense'.`);
      expect(error.code).toBe('invalid-argument');
    }
  });

  it('say what was meant', () => {
    const make = (options: object) => () => new nn.Linear(3, 2, options);
    expect(thrown(make({ biass: false })).hints).toEqual(["Did you mean 'bias'?"]);
    expect(thrown(make({ padding_mode: 1 })).hints).toEqual([
      'Its options are: bias, device, dtype.',
    ]);
  });

  it('are an object', () => {
    const Wrong = nn.Linear as unknown as AnyModule;
    const error = thrown(() => new Wrong(3, 2, false));
    expect(error.message.split('\n')[0]).toBe('Linear: options are an object, not false.');
    expect(error.hints[0]).toBe('Write new Linear(…, { bias: false }).');
  });

  it('leave options of subclasses of yours to you', () => {
    class Mine extends nn.Linear {
      constructor(options: { readonly scale: number }) {
        super(2, 2, { bias: false });
        this.scale = options.scale;
      }
      scale: number;
    }
    expect(new Mine({ scale: 3 }).bias).toBeNull();
  });
});
