/**
 * @file Reference kernels and meta rules of pointwise ops.
 *
 * Operands are tensors or numbers (PyTorch's wrapped numbers), given by argument name. The result's
 * dtype follows from type promotion, its layout from stride propagation (pointwise-strides.ts).
 */
import { isSymScalar, type ScalarLike } from '@tessera/shared';
import { DTYPES, type DType, opmathType } from '../dtype.js';
import type {
  GradsOf,
  NamedArgs,
  OnlyGradsOf,
  OpRecord,
  SavedName,
  TensorMeta,
} from '../op/op-record.js';
import { type Operand, resultType, toFloating } from '../type-promotion.js';
import { broadcastShapes, numelOf } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { readElements, roomFor, roundTo, roundingTo, writeNumbers } from './elements.js';
import { exactIn } from './integer-arithmetic.js';
import { pointwiseStrides } from './pointwise-strides.js';

/** How the result dtype follows from the promoted operands. */
export type ResultRule =
  /** The promoted type. */
  | 'promote'
  /** Integers and bools become the default float type. */
  | 'float'
  | 'bool'
  /** The type of the first operand. */
  | 'self';

/** Options of a pointwise meta rule. */
export interface PointwiseOptions {
  /** Names of the operands, tensors or numbers, in order; default `self`, `other`. Absent ones (null) are left out. */
  readonly operands?: readonly string[];
  readonly result?: ResultRule;
  /** Whether a factor or divisor without dimensions keeps float32's precision next to 16-bit floats, as in PyTorch. */
  readonly wideNumbers?: boolean;
  /** Name used in errors. */
  readonly name?: string;
}

const DEFAULT_OPERANDS = ['self', 'other'];

/** The operands of a call, in order, without absent ones. */
export function operandsOf(args: NamedArgs, names: readonly string[]): Operand[] {
  return names
    .map((name): Operand | null | undefined => args[name])
    .filter((value): value is Operand => value !== null && value !== undefined);
}

/** Numeric value of a number-like operand; a lifted scalar gives its hint (only fakes are traced with those). */
export function scalarValue(value: ScalarLike): number {
  return isSymScalar(value) ? value.hint : Number(value);
}

/**
 * The value of a scalar that decides what is computed: a size, or which operators.
 *
 * @throws lifted-scalar for one that is only known at run time
 */
export function fixedScalar(value: ScalarLike): number {
  return isSymScalar(value) ? value.valueOf() : Number(value);
}

/** Shape, stride and dtype of a pointwise result of given operands. @throws shape-mismatch */
export function metaOfOperands(
  operands: readonly Operand[],
  dtype: DType,
  name: string,
): TensorMeta {
  const tensors = operands.filter((operand): operand is Tensor => isTensor(operand));
  const sizes =
    tensors.length === 1
      ? tensors[0]!.sizes
      : broadcastShapes(
          tensors.map((t) => t.sizes),
          name,
        );
  return {
    sizes,
    strides: pointwiseStrides(sizes, tensors, tensors.length < operands.length),
    dtype,
    device: tensors[0]!.device,
  };
}

/** Shape, stride and dtype of a pointwise op. @throws shape-mismatch */
export function pointwiseMeta(options: PointwiseOptions = {}): (args: NamedArgs) => TensorMeta {
  const names = options.operands ?? DEFAULT_OPERANDS;
  const rule = options.result ?? 'promote';
  return (args) => {
    const operands = operandsOf(args, names);
    const promoted = resultType(operands);
    const first = operands[0]!;
    const dtype: DType =
      rule === 'bool'
        ? 'bool'
        : rule === 'float'
          ? toFloating(promoted)
          : rule === 'self' && isTensor(first)
            ? first.dtype
            : promoted;
    return metaOfOperands(operands, dtype, options.name ?? 'pointwise');
  };
}

/**
 * Reference kernel: `fn` on the operands' elements in double precision, in operand order. Numbers take
 * part as the dtype that the op computes in. Where whole numbers are beyond doubles, `fn` gets BigInts:
 * all of them if it is to compute, those that are if it tells true from false.
 */
export function pointwiseKernel(
  fn: (...values: number[]) => number,
  options: PointwiseOptions = {},
): NonNullable<OpRecord['kernel']> {
  const names = options.operands ?? DEFAULT_OPERANDS;
  return (args, outs) => {
    const out = outs[0]!;
    const operands = operandsOf(args, names);
    const promoted = resultType(operands);
    const computed =
      DTYPES[promoted].category !== 'floating' && DTYPES[out.dtype].category === 'floating'
        ? out.dtype
        : promoted;
    // What is multiplied or divided by keeps its digits if it has no dimensions; what else there is is converted first.
    const wide = options.wideNumbers === true ? opmathType(computed) : computed;
    const columns = operands.map((operand, at) => {
      if (!isTensor(operand)) return roundTo(wide, scalarValue(operand));
      const values = readElements(operand, out.sizes);
      const type = at > 0 && operand.sizes.length === 0 ? wide : computed;
      return operand.dtype === type ? values : values.map(roundingTo(type));
    });
    const n = numelOf(out.sizes);
    const values = roomFor(out.dtype, n);
    const step = options.result === 'bool' ? fn : exactIn(computed, fn);
    const call = new Array<number>(columns.length);
    for (let i = 0; i < n; i++) {
      for (let c = 0; c < columns.length; c++) {
        const column = columns[c]!;
        call[c] = typeof column === 'number' ? column : column[i]!;
      }
      values[i] = step(...call);
    }
    writeNumbers(out, values);
  };
}

/** What differs between the records of pointwise ops. */
export interface PointwiseRecord<
  Args extends NamedArgs = NamedArgs,
  Grads extends GradsOf<Args> = GradsOf<Args>,
> extends PointwiseOptions {
  readonly saved?: readonly SavedName<Args>[];
  readonly savedFor?: OpRecord<Args>['savedFor'];
  /** Left out for ops through which no gradient flows. */
  readonly vjp?: OpRecord<Args, never, Grads>['vjp'];
}

/** A record of one result. */
export interface OneResultRecord<Args extends NamedArgs> extends OpRecord<Args, never> {
  readonly meta: (args: Args) => TensorMeta;
}

/** The record of a pointwise op whose kernel reads its operands only. */
export function pointwise<Args extends NamedArgs, Grads extends GradsOf<Args>>(
  fn: (...values: number[]) => number,
  options?: PointwiseRecord<Args, Grads> & OnlyGradsOf<Args, Grads>,
): OneResultRecord<Args>;
export function pointwise<Args extends NamedArgs>(
  fn: (...values: number[]) => number,
  options: PointwiseRecord<Args> = {},
): OneResultRecord<Args> {
  return {
    tags: options.vjp === undefined ? ['pointwise', 'non-differentiable'] : ['pointwise'],
    meta: pointwiseMeta(options),
    kernel: pointwiseKernel(fn, options),
    saved: options.saved,
    savedFor: options.savedFor,
    vjp: options.vjp,
  };
}

/** The record of an op of one tensor. */
export function unary<Args extends NamedArgs, Grads extends GradsOf<Args>>(
  fn: (value: number) => number,
  options?: PointwiseRecord<Args, Grads> & OnlyGradsOf<Args, Grads>,
): OneResultRecord<Args>;
export function unary<Args extends NamedArgs>(
  fn: (value: number) => number,
  options: PointwiseRecord<Args> = {},
): OneResultRecord<Args> {
  return pointwise<Args, GradsOf<Args>>(fn, { operands: ['self'], ...options });
}

/**
 * The record of a pointwise op whose function needs other arguments: `fnOf` makes it once per call.
 */
export function pointwiseWith<Args extends NamedArgs, Grads extends GradsOf<Args>>(
  fnOf: (args: NoInfer<Args>) => (...values: number[]) => number,
  options?: PointwiseRecord<Args, Grads> & OnlyGradsOf<Args, Grads>,
): OneResultRecord<Args>;
export function pointwiseWith<Args extends NamedArgs>(
  fnOf: (args: Args) => (...values: number[]) => number,
  options: PointwiseRecord<Args> = {},
): OneResultRecord<Args> {
  return {
    ...pointwise(() => 0, options),
    kernel: (args, outs) => pointwiseKernel(fnOf(args), options)(args, outs),
  };
}
