/**
 * @file Element-wise maximum, minimum and clamping.
 */
import { type OptionNames, type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { larger, smaller } from '../../kernels/integer-arithmetic.js';
import { pointwise, pointwiseWith } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import {
  type TensorBinary,
  type Binary,
  binaryFunction,
  binaryFunctionOf,
} from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord } from '../../op/op-record.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { eq, ge, gt, isnan, le, lt } from './comparison.js';
import { maskedFill } from './fill.js';
import { logicalAnd, logicalOr } from './logical.js';
import { div } from './division.js';
import { where } from './where.js';

/** Ties share the gradient. */
function halvedTies(grad: Tensor, self: Tensor, other: Tensor): Tensor {
  return where(eq(self, other), div(grad, 2), grad);
}

const maximumOp = defineOp(
  'aten::maximum(Tensor self, Tensor other) -> Tensor',
  pointwise(larger, {
    name: 'maximum',
    saved: ['self', 'other'],
    vjp: ({ self, other }, { grad }) => ({
      self: () => maskedFill(halvedTies(grad, self, other), lt(self, other), 0),
      other: () => maskedFill(halvedTies(grad, self, other), gt(self, other), 0),
    }),
  }),
);
const minimumOp = defineOp(
  'aten::minimum(Tensor self, Tensor other) -> Tensor',
  pointwise(smaller, {
    name: 'minimum',
    saved: ['self', 'other'],
    vjp: ({ self, other }, { grad }) => ({
      self: () => maskedFill(halvedTies(grad, self, other), gt(self, other), 0),
      other: () => maskedFill(halvedTies(grad, self, other), lt(self, other), 0),
    }),
  }),
);
/** Maximum or minimum that passes over NaN. */
function ignoringNan(
  name: string,
  fn: (a: number, b: number) => number,
  prefers: Binary,
): TensorBinary {
  const choosesSelf = (self: Tensor, other: Tensor): Tensor =>
    logicalOr(prefers(self, other), isnan(other));
  const op: OpOverload<Tensor> = defineOp(
    `aten::${name}(Tensor self, Tensor other) -> Tensor`,
    pointwise((a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : fn(a, b)), {
      name,
      saved: ['self', 'other'],
      vjp: ({ self, other }, { grad }) => ({
        self: () => where(choosesSelf(self, other), grad, 0),
        other: () => where(choosesSelf(self, other), 0, grad),
      }),
    }),
  );
  return binaryFunction(op);
}

const largest = ignoringNan('fmax', larger, ge);
const smallest = ignoringNan('fmin', smaller, le);

export const maxOtherOp: OpOverload<Tensor> = defineOp(
  'aten::max.other(Tensor self, Tensor other) -> Tensor',
  {
    decompose: ({ self, other }) => maximum(self, other),
  },
);
export const minOtherOp: OpOverload<Tensor> = defineOp(
  'aten::min.other(Tensor self, Tensor other) -> Tensor',
  {
    decompose: ({ self, other }) => minimum(self, other),
  },
);

type Bound = Tensor | ScalarLike | null;

interface Bounds {
  readonly min: Bound;
  readonly max: Bound;
}

/** Where self lies within the bounds: there the gradient passes. */
function within(self: Tensor, min: Bound, max: Bound): Tensor {
  if (min === null) return le(self, max!);
  if (max === null) return ge(self, min);
  return logicalAnd(ge(self, min), le(self, max));
}

function clampFunction({ min, max }: Bounds): (...values: number[]) => number {
  if (min === null) return smaller;
  if (max === null) return larger;
  return (x, low, high) => smaller(larger(x!, low!), high!);
}

const clampOp = defineOp(
  'aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor',
  pointwiseWith(clampFunction, {
    name: 'clamp',
    operands: ['self', 'min', 'max'],
    saved: ['self'],
    vjp: ({ self, min, max }, { grad }) => ({
      self: () => where(within(self, min, max), grad, 0),
    }),
  }),
);
const clampTensorOp = defineOp(
  'aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor',
  pointwiseWith(clampFunction, {
    name: 'clamp',
    operands: ['self', 'min', 'max'],
    saved: ['self', 'min', 'max'],
    vjp: ({ self, min, max }, { grad }) => ({
      self: () => where(within(self, min, max), grad, 0),
      min: () =>
        where(max === null ? lt(self, min!) : logicalAnd(lt(min!, max), lt(self, min!)), grad, 0),
      max: () =>
        where(min === null ? gt(self, max!) : logicalOr(lt(max!, min), gt(self, max!)), grad, 0),
    }),
  }),
);

interface Clamps {
  readonly fn: Binary;
  readonly inplace: Binary;
}

/** Their arguments, by a name that is not known before. */
interface ClampArgs {
  readonly self: Tensor;
  readonly [bound: string]: Tensor | ScalarLike;
}

/** clamp_min and clamp_max, for numbers and tensors. */
function oneSided(
  bound: string,
  fn: (x: number, limit: number) => number,
  keeps: Binary,
  loses: Binary,
): Clamps {
  const options = { name: `clamp_${bound}`, operands: ['self', bound] };
  const scalar: OpOverload<Tensor> = defineOp(
    `aten::clamp_${bound}(Tensor self, Scalar ${bound}) -> Tensor`,
    pointwise(fn, {
      ...options,
      saved: ['self'],
      vjp: (args: ClampArgs, { grad }) => ({
        self: () => where(keeps(args.self, args[bound]!), grad, 0),
      }),
    }),
  );
  const tensor: OpOverload<Tensor> = defineOp(
    `aten::clamp_${bound}.Tensor(Tensor self, Tensor ${bound}) -> Tensor`,
    pointwise(fn, {
      ...options,
      saved: ['self', bound],
      vjp: (args: ClampArgs, { grad }) => ({
        self: () => where(keeps(args.self, args[bound]!), grad, 0),
        [bound]: () => where(loses(args.self, args[bound]!), grad, 0),
      }),
    }),
  );
  return {
    fn: binaryFunctionOf(tensor, scalar),
    inplace: binaryFunctionOf(defineInplace(tensor), defineInplace(scalar)),
  };
}

const lower = oneSided('min', larger, ge, lt);
const upper = oneSided('max', smaller, le, gt);
const clampInplace = defineInplace(clampOp);
const clampTensorInplace = defineInplace(clampTensorOp);

/** The larger of both; NaN wins. @throws shape-mismatch */
export const maximum: TensorBinary = binaryFunction(maximumOp);
/** The smaller of both; NaN wins. @throws shape-mismatch */
export const minimum: TensorBinary = binaryFunction(minimumOp);
/** The larger of both; a number wins over NaN. @throws shape-mismatch */
export const fmax: TensorBinary = largest;
/** The smaller of both; a number wins over NaN. @throws shape-mismatch */
export const fmin: TensorBinary = smallest;

type Limit = Tensor | ScalarLike;

/** Limits by name, one of them at least. */
type NamedLimits =
  { readonly min: Limit; readonly max?: Bound } | { readonly min?: Bound; readonly max: Limit };

/** What clamping is called with: limits by position, where null leaves a side open, or by name. */
type ClampArguments =
  [min: Limit, max?: undefined] | [min: Bound, max: Bound] | [limits: NamedLimits, max?: undefined];

type Clamp = (self: Tensor, ...limits: ClampArguments) => Tensor;

const BOUNDS: OptionNames<Bounds> = { min: true, max: true };

function isNamed(min: unknown): min is Partial<Bounds> {
  return min?.constructor === Object;
}

/** The function of clamping operators. */
function clamping(numbers: OpOverload<Tensor>, tensors: OpOverload<Tensor>): Clamp {
  return (self, min: ClampArguments[0] | undefined, max?) => {
    if (max === undefined && isNamed(min)) {
      checkOptionNames('clamp', min, BOUNDS);
      ({ min, max } = min);
    }
    if ((min ?? max) == null)
      throw new TesseraError(
        'invalid-argument',
        "torch.clamp: At least one of 'min' or 'max' must not be None",
        { hints: ['Write x.clamp(min, max).'] },
      );
    return callOp(isTensor(min) || isTensor(max) ? tensors : numbers, [
      self,
      min ?? null,
      max ?? null,
    ]);
  };
}

/** Clamps by another operator's name. */
function otherNameOf(op: OpOverload<Tensor>): OpRecord<Bounds & { readonly self: Tensor }, Tensor> {
  return { decompose: ({ self, min, max }) => callOp(op, [self, min, max]) };
}

const clipOp = defineOp(
  'aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor',
  otherNameOf(clampOp),
);
const clipTensorOp = defineOp(
  'aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor',
  otherNameOf(clampTensorOp),
);
const clipInplace = defineOp(
  'aten::clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)',
  otherNameOf(clampInplace),
);
const clipTensorInplace = defineOp(
  'aten::clip_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)',
  otherNameOf(clampTensorInplace),
);

/**
 * self limited to [min, max], numbers or tensors that broadcast with self: `clamp(0, 1)`, `clamp({ min: 0 })`; null
 * leaves a side open.
 *
 * @throws invalid-argument without bounds and for other names, shape-mismatch
 */
export const clamp: Clamp = clamping(clampOp, clampTensorOp);
/** self = clamp(self, min, max) */
export const clamp_: Clamp = clamping(clampInplace, clampTensorInplace);
/** `clamp` by its other name. */
export const clip: Clamp = clamping(clipOp, clipTensorOp);
/** `clamp_` by its other name. */
export const clip_: Clamp = clamping(clipInplace, clipTensorInplace);

/** max(self, min) */
export const clampMin: Binary = lower.fn;
/** self = max(self, min) */
export const clampMin_: Binary = lower.inplace;
/** min(self, max) */
export const clampMax: Binary = upper.fn;
/** self = min(self, max) */
export const clampMax_: Binary = upper.inplace;
