/**
 * @file Junk for arguments: every public function, method, constructor and module of `@tessera/tensor` and `@tessera/nn` is
 * called without arguments, with too few, with null, words, fractions, objects and tensors of wrong ranks. What comes is a
 * value or a `TesseraError` with a code, never an error of the engine.
 */
import * as nn from '@tessera/nn';
import * as distributions from '@tessera/nn/distributions';
import * as functional from '@tessera/nn/functional';
import { TesseraError } from '@tessera/shared';
import * as tensorApi from '@tessera/tensor';
import { type Tensor, ones, tensor } from '@tessera/tensor';
import * as awaited from '@tessera/tensor/awaited';
import * as fft from '@tessera/tensor/fft';
import * as func from '@tessera/tensor/func';
import * as linalg from '@tessera/tensor/linalg';
import * as more from '@tessera/tensor/more';
import * as signal from '@tessera/tensor/signal';
import * as special from '@tessera/tensor/special';
import { describe, expect, it } from 'vitest';

type Arguments = readonly unknown[];

const x = (): Tensor => ones([2, 3]);
const whole = (): Tensor => ones([2], { dtype: 'int64' });
const deep = (): Tensor => ones([1, 1, 1, 1, 1, 1, 1]);

const JUNK: readonly (readonly [name: string, make: () => Arguments])[] = [
  ['()', () => []],
  ['(null)', () => [null, null, null]],
  ['(word)', () => ['junk', 'junk', 'junk']],
  ['(NaN)', () => [NaN, NaN, NaN]],
  ['(0.5)', () => [0.5, 0.5, 0.5]],
  ['(-1)', () => [-1, -1, -1]],
  ['({})', () => [{}, {}, {}]],
  ['([])', () => [[], [], []]],
  ['({ bogus })', () => [{ bogus: 1 }]],
  ['(function)', () => [() => 3]],
  ['(true)', () => [true, true]],
  ['(x)', () => [x()]],
  ['(x, x)', () => [x(), x()]],
  ['(x, x, x)', () => [x(), x(), x()]],
  ['(x, null)', () => [x(), null, null]],
  ['(x, word)', () => [x(), 'junk', 'junk']],
  ['(x, {})', () => [x(), {}]],
  ['(x, 0.5)', () => [x(), 0.5, 0.5]],
  ['(x, -1)', () => [x(), -1]],
  ['(x, [word])', () => [x(), ['junk'], ['junk']]],
  ['(x, x, word)', () => [x(), x(), 'junk', 'junk']],
  ['(x, x, null)', () => [x(), x(), null, null]],
  ['(x, x, { bogus })', () => [x(), x(), { bogus: 1 }]],
  ['(number)', () => [tensor(1), tensor(1), tensor(1)]],
  ['(seven dimensions)', () => [deep(), deep()]],
  ['(integers)', () => [whole(), whole()]],
  ['([x], [x])', () => [[x()], [x()]]],
  ['([null])', () => [[null], [null]]],
  ['(x, 1, x)', () => [x(), 1, x()]],
  ['(x, 1, null)', () => [x(), 1, null, null]],
  ['(0)', () => [0]],
  ['(0, null)', () => [0, null, null]],
  ['(0, word)', () => [0, 'junk', 'junk']],
  ['(function, x)', () => [(y: unknown) => y, x()]],
];

/** What changes the process for other calls, or takes nothing and makes 44 million parameters. */
const SKIPPED =
  /^(setPrintoptions|manualSeed|setDefaultDtype|setMemoryLimit|registerDevice|loadCheckpoint|Transformer)$/;
/**
 * What is called for every operator, where a check would be paid again and again, and what extends the library: bases of
 * classes, protocols between packages.
 */
const UNCHECKED =
  /^(isFloatingPoint|isIntegral|track|download|accumulateGrad|OpOverload|Optimizer|ParametrizationList)$/;

const isClass = (value: object): boolean =>
  /^class\b/.test(Function.prototype.toString.call(value));

/** What an error of the engine says; null for what is refused or accepted as it should be. */
async function engineError(call: () => unknown): Promise<string | null> {
  try {
    await call();
    return null;
  } catch (error) {
    if (error instanceof TesseraError) return typeof error.code === 'string' ? null : 'no code';
    return String(error).split('\n')[0]!;
  }
}

/** Errors of the engine of calls with every kind of junk. */
async function engineErrors(name: string, call: (args: Arguments) => unknown): Promise<string[]> {
  const found: string[] = [];
  for (const [kind, make] of JUNK) {
    const error = await engineError(() => call(make()));
    if (error !== null) found.push(`${name}${kind}: ${error}`);
  }
  return found;
}

const namespaces: Readonly<Record<string, object>> = {
  tensor: tensorApi,
  linalg,
  fft,
  special,
  more,
  func,
  signal,
  awaited,
  functional,
  nn,
  distributions,
  optim: nn.optim,
  lrScheduler: nn.lrScheduler,
  init: nn.init,
  parametrize: nn.parametrize,
  prune: nn.prune,
  swaUtils: nn.optim.swaUtils,
};

describe('junk for arguments is a TesseraError or a value', () => {
  it.each(Object.entries(namespaces))('of what %s exports', async (_name, exported) => {
    const errors: string[] = [];
    for (const [name, value] of Object.entries(exported)) {
      if (typeof value !== 'function' || SKIPPED.test(name) || UNCHECKED.test(name)) continue;
      const call = (args: Arguments): unknown =>
        isClass(value) ? Reflect.construct(value, args) : Reflect.apply(value, undefined, args);
      errors.push(...(await engineErrors(name, call)));
    }
    // A number is a tensor beside others, which the first argument of these is not.
    expect(errors.filter((each) => !/^(fill|threshold|constant_)\(0, x\)/.test(each))).toEqual([]);
  });

  it('of methods of tensors', async () => {
    const errors: string[] = [];
    for (const make of [x, () => tensor(1), whole]) {
      const names = new Set<string>();
      for (let at = make(); at !== Object.prototype; at = Object.getPrototypeOf(at))
        for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
          if (typeof value === 'function') names.add(name);
      expect(names.size).toBeGreaterThan(400);
      for (const name of names) {
        if (/^(constructor$|_)/.test(name) || UNCHECKED.test(name)) continue;
        const call = (args: Arguments): unknown => {
          const self = make();
          return Reflect.apply(Reflect.get(self, name), self, args);
        };
        errors.push(...(await engineErrors(`x.${name}`, call)));
      }
    }
    expect(errors).toEqual([]);
  });

  it('of calls of modules', async () => {
    const layer = {
      d: new nn.TransformerDecoderLayer(4, 2),
      e: new nn.TransformerEncoderLayer(4, 2),
    };
    const sizes = { dModel: 4, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1 };
    /** The first of these that a constructor accepts is what it is made of. */
    const constructions: readonly Arguments[] = [
      ...[[], [2], [2, 2], [2, 2, 1], [2, 2, 2], [0.5], [4, 6, [2]], [[4, 4], 2], [[2, 2], 1]],
      ...[
        [layer.e, 1],
        [layer.d, 1],
        [2, { outputSize: 1 }],
        [4, 2],
      ],
    ];
    const errors: string[] = [];
    let made = 0;
    for (const [name, type] of Object.entries(nn)) {
      if (typeof type !== 'function' || !(type.prototype instanceof nn.Module)) continue;
      const make = (args: Arguments): nn.Module => Reflect.construct(type, args);
      const args =
        name === 'Transformer'
          ? [sizes]
          : constructions.find((each) => {
              try {
                return make(each) instanceof nn.Module;
              } catch {
                return false;
              }
            });
      expect(args, name).toBeDefined();
      made++;
      for (const mode of [true, false])
        errors.push(
          ...(await engineErrors(name, (given) => {
            const module = make(args!);
            module.train(mode);
            return Reflect.apply(Reflect.get(module, 'call'), module, given);
          })),
        );
    }
    expect(made).toBeGreaterThan(120);
    expect(errors).toEqual([]);
  });
});
