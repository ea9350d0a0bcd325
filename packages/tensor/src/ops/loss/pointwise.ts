/**
 * @file Losses that are an element-wise distance and a reduction.
 */
import { type OptionNames, type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { refuseBools } from '../../kernels/refuse-bools.js';
import { metaOfOperands } from '../../kernels/pointwise-kernel.js';
import { readNumbers, roundTo, writeNumbers } from '../../kernels/elements.js';
import { valueError } from '../../kernels/value-check.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { NamedArgs, TensorMeta } from '../../op/op-record.js';
import { broadcastShapes, formatSizes, sameNumbers } from '../../shape.js';
import { type DType, isFloatingPoint } from '../../dtype.js';
import { formatStrides } from '../../memory-format.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { contiguous, toDtype } from '../arrange/copy.js';
import { clamp, clampMin } from '../pointwise/extremum.js';
import { log, log1p } from '../pointwise/exponential.js';
import { type Reduction, reductionNumber } from './nll.js';
import { type LossOptions, LOSS, reduced, reductionOf } from './reduce.js';
import { checkTargetSize, comparedTo } from './target-size.js';
import { div } from '../pointwise/division.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { abs, sign } from '../pointwise/rounding.js';
import { logSigmoid } from '../activation/log-sigmoid.js';
import { sigmoid } from '../pointwise/trigonometric.js';

/** Where a loss turns from a parabola to a line; each loss has one of them. */
interface Bounds {
  readonly beta: number;
  readonly delta: number;
}

/** A loss and the function for it, from its element-wise form. */
function defineLoss(
  name: string,
  extra: string,
  losses: (difference: Tensor, bounds: Bounds) => Tensor,
): OpOverload<Tensor> {
  return defineOp(`aten::${name}(Tensor self, Tensor target, int reduction=1${extra}) -> Tensor`, {
    decompose: ({ self, target, reduction, beta, delta }: NamedArgs) => {
      const each = losses(sub(self, target), { beta, delta });
      // Alone of its kind, PyTorch's huber_loss has the type of its input.
      return reduced(name === 'huber_loss' ? toDtype(each, self.dtype) : each, reduction);
    },
  });
}

const mseOp = withOverloads(
  defineLoss('mse_loss', '', (difference) => {
    checkFloating('mse_loss', difference);
    return mul(difference, difference);
  }),
  defineLossBackward('mse_loss', '', (difference) => mul(difference, 2)),
);
const l1Op = defineLoss('l1_loss', '', abs);
/**
 * A loss that is a parabola up to a bound and a line behind it: the slope there times what a difference is more
 * than half of the bounded one. Squares of differences, whose derivative is not finite where they are not,
 * are nowhere in it.
 */
function bent(difference: Tensor, bound: number, scale: number): Tensor {
  const bounded = clamp(difference, -bound, bound);
  const slope = scale === 1 ? bounded : div(bounded, scale);
  return mul(slope, sub(difference, mul(bounded, 0.5)));
}

const smoothL1Op = withOverloads(
  defineLoss('smooth_l1_loss', ', float beta=1.0', (difference, { beta }) => {
    checkFloating('smooth_l1_loss', difference);
    if (beta < 0)
      throw new TesseraError(
        'invalid-argument',
        'smooth_l1_loss does not support negative values for beta.',
        { hints: ['0 is l1Loss().'] },
      );
    return beta === 0 ? abs(difference) : bent(difference, beta, beta);
  }),
  defineLossBackward('smooth_l1_loss', ', float beta', (difference, { beta }) =>
    beta === 0 ? sign(difference) : div(clamp(difference, -beta, beta), beta),
  ),
);
const huberOp = withOverloads(
  defineLoss('huber_loss', ', float delta=1.0', (difference, { delta }) => {
    checkFloating('huber_loss', difference);
    if (!(delta > 0))
      throw new TesseraError(
        'invalid-argument',
        `huber_loss does not support non-positive values for delta, got ${delta}.`,
        {
          hints: ['A loss without the parabola is l1Loss().'],
        },
      );
    // As PyTorch's kernel, which holds the bound in the type of its elements.
    return bent(difference, roundTo(difference.dtype, delta), 1);
  }),
  defineLossBackward('huber_loss', ', float delta', (difference, { delta }) =>
    clamp(difference, -delta, delta),
  ),
);

/** Gradient of a reduced element-wise loss: the slope, scaled by the incoming gradient. */
function defineLossBackward(
  name: string,
  extra: string,
  slope: (difference: Tensor, bounds: Bounds) => Tensor,
): OpOverload<Tensor> {
  return defineOp(
    `aten::${name}_backward(Tensor grad_output, Tensor self, Tensor target, int reduction${extra}) -> Tensor`,
    {
      decompose: ({ grad_output, self, target, reduction, beta, delta }) => {
        const difference = sub(self, target);
        // Row-major, whatever the layout of the input is.
        const scaled = contiguous(mul(slope(difference, { beta, delta }), grad_output));
        return reduction === 1 ? div(scaled, difference.numel) : scaled;
      },
    },
  );
}

/** The values of an argument. @throws invalid-argument if one is no probability */
function readProbabilities(tensor: Tensor, argument: string): Float64Array {
  const values = readNumbers(tensor);
  const odd = values.find((value) => !(value >= 0 && value <= 1));
  if (odd !== undefined)
    throw valueError({ rule: 'probability', op: 'binary_cross_entropy', argument }, odd);
  return values;
}

/** Losses of the operands, or what they are reduced to. @throws shape-mismatch if a weight has more elements than the target */
function weightedMeta(
  name: string,
  operands: readonly Tensor[],
  { sizes }: Tensor,
  dtype: DType,
  reduction: number,
): TensorMeta {
  const whole = metaOfOperands(operands, dtype, name);
  if (!sameNumbers(whole.sizes, sizes))
    throw new TesseraError(
      'shape-mismatch',
      `${name}: output with shape ${formatSizes(sizes)} doesn't match the broadcast shape ${formatSizes(whole.sizes)}`,
      { hints: ['Weights are broadcast to the target.'] },
    );
  return reduction === 0 ? whole : { ...whole, sizes: [], strides: [] };
}

/** @throws shape-mismatch */
function entropyMeta({
  self,
  target,
  weight,
  reduction,
}: {
  self: Tensor;
  target: Tensor;
  weight: Tensor | null;
  reduction: number;
}): TensorMeta {
  checkFloating('binary_cross_entropy', self);
  if (target.dtype !== self.dtype)
    throw typeError(`Found dtype ${target.dtype} but expected ${self.dtype}`, self.dtype);
  checkTargetSize(self, target);
  const operands = [self, target, ...(weight === null ? [] : [weight])];
  return weightedMeta('binary_cross_entropy', operands, self, resultType([self]), reduction);
}

/** A target of another type than the loss computes with. */
function typeError(what: string, wanted: DType): TesseraError {
  return new TesseraError('dtype-mismatch', what, {
    hints: [`Convert the target: target.to('${wanted}').`],
  });
}

const binaryCrossEntropyOp: OpOverload<Tensor> = withOverloads(
  defineOp(
    'aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor',
    {
      tags: ['reduction'],
      meta: entropyMeta,
      kernel: ({ self, target, weight, reduction }, [out]) => {
        const x = readProbabilities(self, 'input');
        const y = readProbabilities(target, 'target');
        const w = weight === null ? null : readNumbers(weight, self.sizes);
        // Logarithms are limited to -100, so that a wrong certainty costs much but not everything.
        const losses = x.map(
          (p, i) =>
            ((y[i]! - 1) * Math.max(Math.log1p(-p), -100) - y[i]! * Math.max(Math.log(p), -100)) *
            (w === null ? 1 : w[i]!),
        );
        const total = losses.reduce((a, b) => a + b, 0);
        writeNumbers(
          out!,
          reduction === 0 ? losses : [reduction === 1 ? total / losses.length : total],
        );
      },
      saved: ['self', 'target', 'weight'],
      vjp: ({ self, target, weight, reduction }, { grad }) => ({
        self: () => entropyGradient(grad, self, target, weight, reduction),
        target: () =>
          scaledBy(mul(grad, sub(log1p(neg(self)), log(self))), self, weight, reduction),
      }),
    },
  ),
  defineOp(
    'aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor',
    {
      decompose: ({ grad_output, self, target, weight, reduction }) =>
        entropyGradient(grad_output, self, target, weight, reduction),
    },
  ),
);

function scaledBy(
  gradient: Tensor,
  self: Tensor,
  weight: Tensor | null,
  reduction: number,
): Tensor {
  const weighted = weight === null ? gradient : mul(gradient, weight);
  return reduction === 1 ? div(weighted, self.numel) : weighted;
}

function entropyGradient(
  grad: Tensor,
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
): Tensor {
  const slope = div(sub(self, target), clampMin(mul(rsub(self, 1), self), 1e-12));
  return scaledBy(mul(slope, grad), self, weight, reduction);
}

/** What a positive target weighs, less one, times the target; with it the slope is σ(x)·(1 + e) - y - e. */
function extraWeight(target: Tensor, positive: Tensor | null): Tensor | null {
  return positive === null ? null : mul(sub(positive, 1), target);
}

const withLogitsOp = defineOp(
  'aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor',
  {
    tags: ['reduction'],
    meta: ({ self, target, weight, pos_weight, reduction }) => {
      const operands = [self, target, weight, pos_weight].filter((arg) => arg !== null);
      const name = 'binary_cross_entropy_with_logits';
      // It is subtracted from ones, and the product with the input is written over that.
      refuseBools(target);
      if (!isFloatingPoint(target.dtype)) {
        const result = resultType(operands);
        throw typeError(
          `result type ${result} can't be cast to the desired output type ${target.dtype}`,
          result,
        );
      }
      // The losses are written over the target's part of them, which has its layout.
      const meta = weightedMeta(name, operands, target, target.dtype, reduction);
      return reduction === 0 ? { ...meta, strides: formatStrides(target, null) } : meta;
    },
    kernel: ({ self, target, weight, pos_weight, reduction }, [out]) => {
      const operands = [self, target, weight, pos_weight].filter((arg) => arg !== null);
      const sizes = broadcastShapes(operands.map((operand) => operand.sizes));
      const read = (arg: Tensor | null): Float64Array | null =>
        arg === null ? null : readNumbers(arg, sizes);
      const [x, y, w, p] = [self, target, weight, pos_weight].map(read);
      // Rounded after every step, as PyTorch's, which takes one operator for each.
      const r = (value: number): number => roundTo(out!.dtype, value);
      const losses = Array.from(x!, (value, i) => {
        const logs = r(-Math.log1p(Math.exp(-Math.abs(value))) - Math.max(-value, 0));
        const scaled = p === null ? logs : r(r(r(r(p[i]! - 1) * y![i]!) + 1) * logs);
        const loss = r(r(r(1 - y![i]!) * value) - scaled);
        return w === null ? loss : r(loss * w[i]!);
      });
      const total = losses.reduce((a, b) => a + b, 0);
      writeNumbers(
        out!,
        reduction === 0 ? losses : [reduction === 1 ? total / losses.length : total],
      );
    },
    saved: ['self', 'target', 'weight', 'pos_weight'],
    vjp: ({ self: x, target: y, weight, pos_weight: positive, reduction }, { grad }) => {
      const reduce = (slope: Tensor): Tensor => {
        const gradient = mul(slope, grad);
        const weighted = weight === null ? gradient : mul(gradient, weight);
        return reduction === 1 ? div(weighted, weighted.numel) : weighted;
      };
      return {
        self: () => {
          const extra = extraWeight(y, positive);
          // Without weights of positives, what is left of both operands is one value to save.
          if (extra === null) return reduce(sub(sigmoid(x), y));
          return reduce(sub(mul(sigmoid(x), add(extra, 1)), add(y, extra)));
        },
        target: () => {
          const certain = positive === null ? null : mul(sub(positive, 1), logSigmoid(x));
          return reduce(certain === null ? neg(x) : sub(neg(x), certain));
        },
      };
    },
  },
);

/** Options of `smoothL1Loss`. */
export interface SmoothL1LossOptions extends LossOptions {
  /** The difference at which squares end (default 1). */
  readonly beta?: ScalarLike;
}
const SMOOTH_L1: OptionNames<SmoothL1LossOptions> = { ...LOSS, beta: true };

/** Options of `huberLoss`. */
export interface HuberLossOptions extends LossOptions {
  /** The difference at which squares end (default 1). */
  readonly delta?: ScalarLike;
}
const HUBER: OptionNames<HuberLossOptions> = { ...LOSS, delta: true };

/** Mean (or sum, or each) of squared differences; warns where sizes differ and are broadcast. @throws shape-mismatch */
export function mseLoss(input: Tensor, target: Tensor, options?: LossOptions): Tensor {
  checkOptionNames('mseLoss', options, LOSS);
  return callOp(mseOp, [input, comparedTo(input, target), reductionOf(options)]);
}

/** Mean (or sum, or each) of absolute differences; warns where sizes differ and are broadcast. @throws shape-mismatch */
export function l1Loss(input: Tensor, target: Tensor, options?: LossOptions): Tensor {
  checkOptionNames('l1Loss', options, LOSS);
  return callOp(l1Op, [input, comparedTo(input, target), reductionOf(options)]);
}

/** Squared differences below `beta`, absolute ones above. @throws shape-mismatch */
export function smoothL1Loss(input: Tensor, target: Tensor, options?: SmoothL1LossOptions): Tensor {
  checkOptionNames('smoothL1Loss', options, SMOOTH_L1);
  return callOp(smoothL1Op, [
    input,
    comparedTo(input, target),
    reductionOf(options),
    options?.beta ?? 1,
  ]);
}

/** `smoothL1Loss` scaled by `delta`. @throws shape-mismatch */
export function huberLoss(input: Tensor, target: Tensor, options?: HuberLossOptions): Tensor {
  checkOptionNames('huberLoss', options, HUBER);
  return callOp(huberOp, [
    input,
    comparedTo(input, target),
    reductionOf(options),
    options?.delta ?? 1,
  ]);
}

/** Parameters of binary losses. */
export interface BinaryLossOptions {
  readonly weight?: Tensor | null;
  readonly reduction?: Reduction;
}
const BINARY_LOSS: OptionNames<BinaryLossOptions> = { weight: true, reduction: true };

/** Cross entropy of probabilities in [0, 1] with targets of the same shape. @throws shape-mismatch, invalid-argument */
export function binaryCrossEntropy(
  input: Tensor,
  target: Tensor,
  options?: BinaryLossOptions,
): Tensor {
  checkOptionNames('binaryCrossEntropy', options, BINARY_LOSS);
  return callOp(binaryCrossEntropyOp, [
    input,
    target,
    options?.weight ?? null,
    reductionNumber(options?.reduction ?? 'mean'),
  ]);
}

const BINARY_CROSS_ENTROPY_WITH_LOGITS: OptionNames<
  BinaryLossOptions & { posWeight?: Tensor | null }
> = { weight: true, reduction: true, posWeight: true };

/** Cross entropy of logits with targets; `posWeight` weighs the positive ones. @throws shape-mismatch */
export function binaryCrossEntropyWithLogits(
  input: Tensor,
  target: Tensor,
  options?: BinaryLossOptions & { posWeight?: Tensor | null },
): Tensor {
  checkOptionNames('binaryCrossEntropyWithLogits', options, BINARY_CROSS_ENTROPY_WITH_LOGITS);
  checkTargetSize(input, target);
  return callOp(withLogitsOp, [
    input,
    target,
    options?.weight ?? null,
    options?.posWeight ?? null,
    reductionNumber(options?.reduction ?? 'mean'),
  ]);
}
