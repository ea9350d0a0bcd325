/**
 * @file Ranges and identity matrices.
 */
import { isSymScalar, TesseraError, type ScalarLike } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { writeNumbers } from '../../kernels/elements.js';
import { fixedScalar, scalarValue } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { OpRecord } from '../../op/op-record.js';
import { contiguousStrides } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { numberType } from '../../type-promotion.js';
import { isTensor } from '../../tensor-factory.js';
import { OPTIONS, type TensorOptions, finish, NO_OPTIONS, checkedDtype } from './factory.js';
import type { DeviceType } from '../../device.js';

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

interface Placed {
  readonly dtype: DType | null;
  readonly device: DeviceType | null;
}

type RangeArgs = Placed & { start?: ScalarLike; end: ScalarLike; step?: ScalarLike };
type EyeArgs = Placed & { n: number; m?: number };

function rangeOf(args: RangeArgs, read = scalarValue): Range {
  const { start = 0, end, step = 1 } = args;
  return { start: read(start), end: read(end), step: read(step) };
}

/** int64 if all arguments are whole, else the default float type. */
function rangeType(args: RangeArgs): DType {
  const numbers = [args.start, args.end, args.step].filter((value) => value !== undefined);
  return numbers.every((value) => numberType(value) !== defaultDType()) ? 'int64' : defaultDType();
}

const rangeRecord: OpRecord<RangeArgs, never> = {
  tags: ['factory'],
  meta: (args) => {
    const { start, end, step } = rangeOf(args, fixedScalar);
    // As int64 the bounds are cut to whole numbers first.
    const exact = (value: number): number => (args.dtype === 'int64' ? Math.trunc(value) : value);
    const count = Math.ceil((exact(end) - exact(start)) / exact(step));
    // Also less than a step in the other direction, which rounds to none.
    if (step === 0 || !(count >= 0) || count === Infinity || (end - start) / step < 0) {
      throw new TesseraError(
        'invalid-argument',
        `arange: bounds ${start} to ${end} are not reached with step ${step}`,
        { hints: ['The step leads from start to end.'] },
      );
    }
    return {
      sizes: [count],
      strides: [1],
      dtype: args.dtype ?? rangeType(args),
      device: args.device ?? 'cpu',
    };
  },
  kernel: (args, [out]) => {
    const { start, step } = rangeOf(args);
    const integral = out!.dtype.startsWith('int') || out!.dtype === 'uint8';
    const from = integral ? Math.trunc(start) : start;
    const by = integral ? Math.trunc(step) : step;
    writeNumbers(
      out!,
      Float64Array.from({ length: out!.numel }, (_, i) => from + i * by),
    );
  },
};

const arangeOp: OpOverload<Tensor> = withOverloads(
  defineOp(
    `aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ${OPTIONS}) -> Tensor`,
    rangeRecord,
  ),
  defineOp(`aten::arange(Scalar end, *, ${OPTIONS}) -> Tensor`, rangeRecord),
  defineOp(`aten::arange.start(Scalar start, Scalar end, *, ${OPTIONS}) -> Tensor`, rangeRecord),
);

const eyeRecord: OpRecord<EyeArgs, never> = {
  tags: ['factory'],
  meta: (args) => {
    const sizes = [args.n, args.m ?? args.n];
    return {
      sizes,
      strides: contiguousStrides(sizes),
      dtype: args.dtype ?? defaultDType(),
      device: args.device ?? 'cpu',
    };
  },
  kernel: (_args, [out]) => {
    const [n, m] = out!.sizes;
    const values = new Float64Array(n * m);
    for (let i = 0; i < Math.min(n, m); i++) values[i * m + i] = 1;
    writeNumbers(out!, values);
  },
};
const eyeOp = defineOp(`aten::eye(SymInt n, *, ${OPTIONS}) -> Tensor`, eyeRecord);
const eyeRectangleOp = defineOp(
  `aten::eye.m(SymInt n, SymInt m, *, ${OPTIONS}) -> Tensor`,
  eyeRecord,
);

/** Numbers from 0 to `end`, exclusive. @throws invalid-argument */
export function arange(end: ScalarLike, options?: TensorOptions): Tensor;
/** Numbers from `start` to `end`, exclusive. @throws invalid-argument */
export function arange(start: ScalarLike, end: ScalarLike, options?: TensorOptions): Tensor;
/** Numbers from `start` to `end`, exclusive, by `step`. @throws invalid-argument */
export function arange(
  start: ScalarLike,
  end: ScalarLike,
  step: ScalarLike,
  options?: TensorOptions,
): Tensor;
export function arange(...args: readonly (ScalarLike | TensorOptions | undefined)[]): Tensor {
  // What is no number, the schema refuses by its place.
  const numbers = args.filter((arg) => isScalar(arg) || typeof arg === 'string' || isTensor(arg));
  const options =
    args.find(
      (arg): arg is TensorOptions => typeof arg === 'object' && !isScalar(arg) && !isTensor(arg),
    ) ?? {};
  const [start, end] = numbers.length === 1 ? [0, numbers[0]!] : [numbers[0]!, numbers[1]!];
  return finish(
    callOp(arangeOp, [
      start,
      end,
      numbers[2] ?? 1,
      checkedDtype(options),
      null,
      options.device ?? null,
      null,
    ]),
    options,
  );
}

function isScalar(value: unknown): value is ScalarLike {
  return typeof value === 'number' || typeof value === 'boolean' || isSymScalar(value);
}

/** Ones on the diagonal of an [n, n] matrix. */
export function eye(n: number, options?: TensorOptions): Tensor;
/** Ones on the diagonal of an [n, m] matrix (m defaults to n). */
export function eye(n: number, m?: number | null, options?: TensorOptions): Tensor;
export function eye(
  n: number,
  columns: number | TensorOptions | null = null,
  given: TensorOptions = NO_OPTIONS,
): Tensor {
  const isSquare = typeof columns === 'object' && !isSymScalar(columns);
  const m = isSquare ? null : columns;
  const options = isSquare ? (columns ?? given) : given;
  return finish(
    m === null
      ? callOp(eyeOp, [n, checkedDtype(options), null, options.device ?? null, null])
      : callOp(eyeRectangleOp, [n, m, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}
