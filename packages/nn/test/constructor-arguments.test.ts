/**
 * @file What no constructor accepts is a `TesseraError` of it: every exported class is called without arguments and
 * with junk, and may never answer with an error of the engine.
 */
import { TesseraError } from '@tessera/shared';
import { ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as distributions from '../src/distributions/index.js';
import * as nn from '../src/index.js';

type AnyClass = new (...args: unknown[]) => unknown;

const isClass = (value: unknown): value is AnyClass =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

/** All but `Transformer`, which takes nothing for its default: 44 million parameters. */
const exported: [string, unknown][] = [...Object.entries(nn), ...Object.entries(distributions)];
const classes = exported.filter(
  (entry): entry is [string, AnyClass] => isClass(entry[1]) && entry[0] !== 'Transformer',
);

/** What a call threw; null if it was accepted. */
function thrown(type: AnyClass, ...args: readonly unknown[]): unknown {
  try {
    void new type(...args);
  } catch (error) {
    return error;
  }
  return null;
}

function refusal(call: () => unknown): TesseraError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(TesseraError);
    return error as TesseraError;
  }
  throw new Error('nothing was thrown');
}

/** Types forbid these calls. */
const any = (value: unknown): never => value as never;

describe('constructors of every exported class', () => {
  it.each<[string, readonly unknown[]]>([
    ['no argument', []],
    ['null', [null, null, null]],
    ['words', ['junk', 'junk', 'junk']],
    ['fractions', [0.5, 0.5, 0.5]],
    ['NaN', [NaN, NaN, NaN]],
    ['negative numbers', [-1, -1, -1]],
    ['objects', [{}, {}, {}]],
    ['an option that nobody has', [{ bogus: 1 }]],
    ['a tensor', [ones([2])]],
  ])('answer %s with a TesseraError or a module', (_name, args) => {
    expect(classes.length).toBeGreaterThan(140);
    const raw = classes.flatMap(([name, type]) => {
      const error = thrown(type, ...args);
      return error === null || error instanceof TesseraError ? [] : [`${name}: ${String(error)}`];
    });
    expect(raw).toEqual([]);
  });

  it('refuse to go without the arguments that PyTorch requires', () => {
    const optional =
      /Loss$|Dropout\dd$|Dropout$|^Lazy|^(CELU|ELU|PReLU|RReLU|SELU|LeakyReLU|Softplus|Softshrink|Hardtanh|Hardshrink)$|^(CosineSimilarity|PairwiseDistance|Flatten|GradScaler|GLU|Distribution)$|^Upsampl|^Module(Dict|List)?$|^Parameter(Dict|List)$|^Sequential$|^Softmin$/;
    const required = classes.filter(([name, type]) => type.length > 0 && !optional.test(name));
    const accepted = required.filter(([, type]) => thrown(type) === null).map(([name]) => name);
    expect(accepted).toEqual([]);
  });

  it.each<[string, () => unknown, string, string]>([
    ['LayerNorm', () => new nn.LayerNorm(any(undefined)), 'normalizedShape', 'new LayerNorm('],
    ['a pool', () => new nn.MaxPool2d(any(undefined)), 'kernelSize', 'new MaxPool2d('],
    ['a pad', () => new nn.ConstantPad2d(any(undefined), 0), 'padding', 'new ConstantPad2d('],
    ['GroupNorm', () => new nn.GroupNorm(2, any(undefined)), 'numChannels', 'new GroupNorm('],
    ['an encoder', () => new nn.TransformerEncoder(any(undefined), 2), 'layer', 'numLayers'],
  ])('%s says which one is missing and how it is called', (_name, call, argument, hint) => {
    const error = refusal(call);
    expect(error.code).toBe('invalid-argument');
    expect(error.message).toContain(argument);
    expect(error.hints.join(' ')).toContain(hint);
  });
});

describe('distributions', () => {
  const { Bernoulli, Binomial, Dirichlet, MultivariateNormal, Normal } = distributions;

  it.each<[string, () => unknown, string]>([
    ['a number for a tensor', () => new Dirichlet(any(0.5)), 'concentration must be a tensor'],
    ['no parameter', () => new Normal(any(undefined), 1), 'must be a tensor or a number'],
    ['a matrix by position', () => new MultivariateNormal(ones([2]), any(ones([2, 2]))), 'options'],
    ['no matrix', () => new MultivariateNormal(ones([2]), any(undefined)), 'Exactly one of'],
    ['a list for a mean', () => new MultivariateNormal(any([1]), {}), 'loc must be a tensor'],
    ['an unknown option', () => new Normal(0, 1, any({ validate: true })), "no option 'validate'"],
    ['one of another', () => new Bernoulli(any({ probs: 0.5, totalCount: 2 })), "'totalCount'"],
  ])('refuse %s', (_name, call, text) => {
    const error = refusal(call);
    expect(error.code).toBe('invalid-argument');
    expect(error.message).toContain(text);
  });

  it('take the options that they have', () => {
    expect(new Binomial({ totalCount: 4, probs: 0.5, validateArgs: true }).mean.item()).toBe(2);
    const probs = tensor([0.5, 0.5]);
    expect(new distributions.Multinomial({ totalCount: 4, probs }).mean.toArray()).toEqual([2, 2]);
  });
});

describe('packPaddedSequence', () => {
  it('says that lengths are missing', () => {
    const error = refusal(() => nn.packPaddedSequence(ones([2, 2, 3]), any(undefined)));
    expect(error.code).toBe('invalid-argument');
    expect(error.message).toContain('Lengths must be a list of numbers');
  });
});

describe('more arguments than a constructor takes', () => {
  it.each<[string, string, readonly unknown[], string]>([
    ['of a module without any', 'Tanh', [3], 'Tanh: expected at most 0 arguments, got 1.'],
    ['options of one without', 'Sigmoid', [{ inplace: true }], 'Sigmoid: expected at most 0'],
    ['a third dimension', 'Flatten', [1, 2, 3], 'Flatten: expected at most 2 arguments, got 3.'],
    ['sides one by one', 'ReflectionPad2d', [1, 2, 3, 4], 'ReflectionPad2d: expected at most 1'],
    ['a value too many', 'ConstantPad1d', [1, 0, 0], 'ConstantPad1d: expected at most 2'],
    ['sizes one by one', 'AdaptiveAvgPool2d', [4, 4], 'AdaptiveAvgPool2d: expected at most 1'],
    ['a second dimension', 'Softmax', [1, 2], 'Softmax: expected at most 1'],
  ])('are refused: %s', (_what, name, args, message) => {
    const type = new Map(classes).get(name)!;
    const error = refusal(() => new type(...args));
    expect(error.code).toBe('invalid-argument');
    expect(error.message).toContain(message);
  });

  it('are refused for a class of the program that has no constructor', () => {
    class Net extends nn.Module {
      override forward(): void {}
    }
    // @ts-expect-error: it takes none.
    expect(() => new Net(64)).toThrow('Net: expected at most 0 arguments, got 1.');
  });

  it('are all accepted by Identity, which stands in for any module', () => {
    expect(String(new nn.Identity(3, { bias: false }))).toBe('Identity()');
  });
});
