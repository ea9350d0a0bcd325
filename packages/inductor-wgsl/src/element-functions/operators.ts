/**
 * @file Operators that are functions of many steps for each element: incomplete gamma functions, and numbers drawn by
 * rejection.
 *
 * Samplers take their turn of the generator as eager calls on the CPU do, and the same random words: same seed, same numbers.
 */
import { GAMMA_FUNCTIONS, SAMPLING_FUNCTIONS } from '@tessera/inductor-core';
import { TesseraError } from '@tessera/shared';
import type { DType, GeneratorState, Tensor } from '@tessera/tensor';
import { reserveOffsets } from '@tessera/tensor/internal';
import type { OwnCheck } from '../runtime/device/check-report.js';
import type { OwnOperator } from '../runtime/own-operators.js';
import { elementCode, fillElements } from './element-program.js';

/** A function of the elements of two tensors, which are arguments `first` and `second`. */
function ofTwo(name: string, first: string, second: string): OwnOperator {
  const code = elementCode({
    name,
    functions: GAMMA_FUNCTIONS,
    values: ['a', 'b'],
    result: `@${name}(a, b)`,
  });
  return (runtime, args: Readonly<Record<string, Tensor>>, [out]) =>
    fillElements(runtime, code, [args[first]!, args[second]!], out!);
}

/** Of a random operator, or of one that replays it (`replayOf`): where its stream of random words begins. */
interface Drawn {
  readonly replay_seed?: number;
  readonly replay_offset?: number;
  readonly replay_draw?: number;
}

function stateOf({ replay_seed, replay_offset, replay_draw }: Drawn): GeneratorState {
  if (replay_seed === undefined) return reserveOffsets(1);
  return { seed: replay_seed, offset: Number(replay_offset) + Number(replay_draw) };
}

/** What a sampler is beside its function. */
interface Sampler {
  readonly name: string;
  /** Arguments, whose elements are a and b. */
  readonly tensors: readonly string[];
  readonly refused?: string;
  readonly check?: OwnCheck;
  /** One more argument of the function, and what it is for results of a dtype. */
  readonly more?: (dtype: DType) => number;
}

const bits = new DataView(new ArrayBuffer(4));

function sampler({ name, tensors, refused, check, more }: Sampler): OwnOperator {
  const values = ['a', 'b'].slice(0, tensors.length);
  const given = more === undefined ? values : [...values, 'bitcast<f32>(params.more)'];
  const code = elementCode({
    name,
    functions: { ...GAMMA_FUNCTIONS, ...SAMPLING_FUNCTIONS },
    values,
    params: ['seed', 'offset', 'more'],
    result: `@${name}(params.seed, params.offset, at, ${given.join(', ')})`,
    refused,
  });
  return (runtime, args: Drawn & Readonly<Record<string, Tensor>>, [out]) => {
    const { seed, offset } = stateOf(args);
    bits.setFloat32(0, more?.(out!.dtype) ?? 0);
    const operands = tensors.map((tensor) => args[tensor]!);
    fillElements(runtime, code, operands, out!, [seed, offset, bits.getUint32(0)], check);
  };
}

/** The least normal number, as on the CPU: the logarithm of a number that underflows would be -∞. */
const standardGamma = sampler({
  name: 'standard_gamma',
  tensors: ['self'],
  more: (dtype) => (dtype === 'float16' ? 2 ** -14 : 2 ** -126),
});

const poisson = sampler({
  name: 'poisson',
  tensors: ['self'],
  refused: '@is_nan(a) | (a < 0.0)',
  check: {
    text: 'poisson',
    error: () =>
      new TesseraError(
        'invalid-argument',
        'invalid Poisson rate, expected rate to be non-negative',
        { hints: ['Rates are finite and not negative.'] },
      ),
  },
});

const binomial = sampler({ name: 'binomial', tensors: ['count', 'prob'] });

const SAMPLERS: readonly (readonly [name: string, run: OwnOperator])[] = [
  ['_standard_gamma', standardGamma],
  ['poisson', poisson],
  ['binomial', binomial],
];

/** By qualified name. */
export const ELEMENT_OPERATORS: ReadonlyMap<string, OwnOperator> = new Map([
  ['aten::igamma', ofTwo('igamma', 'self', 'other')],
  ['aten::igammac', ofTwo('igammac', 'self', 'other')],
  ['aten::_standard_gamma_grad', ofTwo('gamma_slope', 'self', 'output')],
  ...SAMPLERS.flatMap(([name, run]) => [
    [`aten::${name}`, run] as const,
    [`tessera::replay_aten_${name}`, run] as const,
  ]),
]);
