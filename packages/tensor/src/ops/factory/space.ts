/**
 * @file Evenly spaced numbers: linspace, and logspace, which raises a base to them.
 *
 * Bounds may be 0-d tensors; their values are read when the kernel runs, so that shapes never need them.
 */
import { type OptionNames, type ScalarLike, TesseraError } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, type DType } from '../../dtype.js';
import { readNumbers, roundTo, writeNumbers } from '../../kernels/elements.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord } from '../../op/op-record.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import {
  OPTIONS,
  type Placement,
  type TensorOptions,
  finish,
  NO_OPTIONS,
  TENSOR_OPTIONS,
  checkTensorOptions,
  checkedDtype,
} from './factory.js';

/** A bound of a range. */
export type Bound = ScalarLike | Tensor;

interface SpaceArgs extends Placement {
  readonly start: Bound;
  readonly end: Bound;
  readonly steps: number;
  /** Of logspace. */
  readonly base?: number;
}

type Kind = 'Scalar' | 'Tensor';

function boundValue(bound: Bound, dtype: DType): number {
  const value = isTensor(bound) ? readNumbers(bound)[0]! : scalarValue(bound);
  return DTYPES[dtype].category === 'floating' ? roundTo(dtype, value) : Math.trunc(value);
}

/**
 * Values counted from both ends, so that the last one is exact; `round` is applied to the step and to each
 * operation with it.
 */
function spaced(
  { start, end, steps: count }: SpaceArgs,
  dtype: DType,
  round: (value: number) => number,
): Float64Array {
  const [from, to] = [boundValue(start, dtype), boundValue(end, dtype)];
  const step = count > 1 ? round(round(to - from) / (count - 1)) : 0;
  return Float64Array.from({ length: count }, (_, i) =>
    count === 1 || i < Math.floor(count / 2)
      ? from + round(i * step)
      : to - round((count - 1 - i) * step),
  );
}

/** PyTorch computes linspace in the result's type where that has 16 bits. */
function linspaceRounding(dtype: DType): (value: number) => number {
  return dtype === 'float16' || dtype === 'bfloat16'
    ? (value) => roundTo(dtype, value)
    : (value) => value;
}

function spaceRecord(
  name: string,
  kernel: NonNullable<OpRecord<SpaceArgs>['kernel']>,
): OpRecord<SpaceArgs, never> {
  return {
    tags: ['factory', 'non-differentiable'],
    meta: ({ start, end, steps, dtype, device }) => {
      const wide = [start, end].filter(isTensor).find((bound) => bound.ndim > 0);
      if (!(steps >= 0) || wide !== undefined)
        throw new TesseraError(
          'invalid-argument',
          wide === undefined
            ? `${name}: number of steps must be non-negative, got ${steps}`
            : `${name} only supports 0-dimensional start and end tensors, but got start with ${wide.ndim} dimension(s)`,
          { hints: ['Ask for zero or more steps between two numbers.'] },
        );
      const bound = [start, end].find(isTensor);
      return {
        sizes: [steps],
        strides: [1],
        dtype: dtype ?? defaultDType(),
        device: device ?? bound?.device ?? 'cpu',
      };
    },
    kernel,
  };
}

/** Registers the overloads for numbers and tensors; returned as [start is a tensor][end is a tensor]. */
function defineSpace(
  name: string,
  base: '' | 'float base=10.0, ',
  record: OpRecord<SpaceArgs, never>,
): readonly (readonly [OpOverload<Tensor>, OpOverload<Tensor>])[] {
  const kinds: readonly Kind[] = ['Scalar', 'Tensor'];
  const define = (start: Kind, end: Kind): OpOverload<Tensor> => {
    const overload = start === 'Scalar' && end === 'Scalar' ? '' : `.${start}_${end}`;
    return defineOp(
      `aten::${name}${overload}(${start} start, ${end} end, int steps, ${base}*, ${OPTIONS}) -> Tensor`,
      // With a tensor among its arguments it is no factory: it depends on what the graph computes.
      overload === '' ? record : { ...record, tags: ['non-differentiable'] },
    );
  };
  return kinds.map((start) => [define(start, 'Scalar'), define(start, 'Tensor')] as const);
}

const linspaceOps = defineSpace(
  'linspace',
  '',
  spaceRecord('linspace', (args, [out]) =>
    writeNumbers(out!, spaced(args, out!.dtype, linspaceRounding(out!.dtype))),
  ),
);
const logspaceOps = defineSpace(
  'logspace',
  'float base=10.0, ',
  spaceRecord('logspace', (args, [out]) => {
    const base = scalarValue(args.base ?? 10);
    writeNumbers(
      out!,
      spaced(args, out!.dtype, (value) => value).map((exponent) => base ** exponent),
    );
  }),
);

function choose(
  ops: readonly (readonly [OpOverload<Tensor>, OpOverload<Tensor>])[],
  start: Bound,
  end: Bound,
): OpOverload<Tensor> {
  return ops[Number(isTensor(start))]![Number(isTensor(end))];
}

/** `steps` numbers evenly spaced from start to end, both included. @throws invalid-argument */
export function linspace(
  start: Bound,
  end: Bound,
  steps: number,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  const op = choose(linspaceOps, start, end);
  return finish(
    callOp(op, [start, end, steps, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** Options of `logspace`. */
export interface LogspaceOptions extends TensorOptions {
  /** What the exponents are of (default 10). */
  readonly base?: number;
}
const LOGSPACE: OptionNames<LogspaceOptions> = { ...TENSOR_OPTIONS, base: true };

/** `base` (10) to the powers of `steps` numbers evenly spaced from start to end. @throws invalid-argument */
export function logspace(
  start: Bound,
  end: Bound,
  steps: number,
  options: LogspaceOptions = NO_OPTIONS,
): Tensor {
  const op = choose(logspaceOps, start, end);
  checkTensorOptions(options, LOGSPACE);
  const { base = 10 } = options;
  return finish(
    callOp(op, [
      start,
      end,
      steps,
      base,
      checkedDtype(options, LOGSPACE),
      null,
      options.device ?? null,
      null,
    ]),
    options,
  );
}
