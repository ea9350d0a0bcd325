/**
 * @file Transforms of each element.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  abs,
  atanh,
  broadcastShapes,
  clamp,
  exp,
  expand,
  expm1,
  fullLike,
  isTensor,
  log,
  log1p,
  sigmoid,
  sign,
  softplus,
  tanh,
} from '@tessera/tensor';
import {
  type Constraint,
  independent,
  interval,
  positive,
  nonnegative,
  real,
  unitInterval,
} from './constraints.js';
import { Distribution, type ParameterLike, checkTensor } from './distribution.js';
import { sumRightmost } from './sum-rightmost.js';
import { Transform, type TransformOptions } from './transform.js';

/** The smallest positive normal number and the distance of 1 to the next, of a dtype. */
export function limitsOf({ dtype }: Tensor): readonly [tiny: number, epsilon: number] {
  if (dtype === 'float64') return [2 ** -1022, 2 ** -52];
  if (dtype === 'float16') return [2 ** -14, 2 ** -10];
  return [2 ** -126, dtype === 'bfloat16' ? 2 ** -7 : 2 ** -23];
}

/** Strictly between 0 and 1, as a number of the dtype can be. */
export function insideUnit(x: Tensor): Tensor {
  const [tiny, epsilon] = limitsOf(x);
  return clamp(x, tiny, 1 - epsilon);
}

/** The sigmoid, of which logarithms are finite on both sides. */
export function clippedSigmoid(x: Tensor): Tensor {
  return insideUnit(sigmoid(x));
}

/** y = exp(x). @see torch.distributions.transforms.ExpTransform */
export class ExpTransform extends Transform {
  readonly domain: Constraint = real;
  readonly codomain: Constraint = positive;
  override get sign(): number {
    return 1;
  }
  protected forward(x: Tensor): Tensor {
    return exp(x);
  }
  protected backward(y: Tensor): Tensor {
    return log(y);
  }
  override logAbsDetJacobian(x: Tensor): Tensor {
    return x;
  }
}

/** y = x to the power of `exponent`. @see torch.distributions.transforms.PowerTransform */
export class PowerTransform extends Transform {
  readonly domain: Constraint = positive;
  readonly codomain: Constraint = positive;

  constructor(
    readonly exponent: ParameterLike,
    options: TransformOptions = {},
  ) {
    super(options);
    checkTensor('exponent', exponent, true);
  }
  override get sign(): Tensor | number {
    const { exponent } = this;
    return isTensor(exponent) ? sign(exponent) : Math.sign(exponent);
  }
  protected forward(x: Tensor): Tensor {
    return x.pow(this.exponent);
  }
  protected backward(y: Tensor): Tensor {
    const { exponent } = this;
    return y.pow(isTensor(exponent) ? exponent.reciprocal() : 1 / exponent);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return log(abs(y.mul(this.exponent).div(x)));
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return isTensor(this.exponent) ? broadcastShapes([shape, this.exponent.sizes]) : shape;
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.forwardShape(shape);
  }
  protected override hasSame(other: PowerTransform): boolean {
    return this.exponent === other.exponent;
  }
}

/** y = 1 / (1 + exp(-x)). @see torch.distributions.transforms.SigmoidTransform */
export class SigmoidTransform extends Transform {
  readonly domain: Constraint = real;
  readonly codomain: Constraint = unitInterval;
  override get sign(): number {
    return 1;
  }
  protected forward(x: Tensor): Tensor {
    return clippedSigmoid(x);
  }
  protected backward(y: Tensor): Tensor {
    const inside = insideUnit(y);
    return log(inside).sub(log1p(inside.neg()));
  }
  override logAbsDetJacobian(x: Tensor): Tensor {
    return softplus(x.neg()).neg().sub(softplus(x));
  }
}

/** y = log(1 + exp(x)). @see torch.distributions.transforms.SoftplusTransform */
export class SoftplusTransform extends Transform {
  readonly domain: Constraint = real;
  readonly codomain: Constraint = positive;
  override get sign(): number {
    return 1;
  }
  protected forward(x: Tensor): Tensor {
    return softplus(x);
  }
  protected backward(y: Tensor): Tensor {
    return log(expm1(y.neg()).neg()).add(y);
  }
  override logAbsDetJacobian(x: Tensor): Tensor {
    return softplus(x.neg()).neg();
  }
}

/** y = tanh(x). @see torch.distributions.transforms.TanhTransform */
export class TanhTransform extends Transform {
  readonly domain: Constraint = real;
  readonly codomain: Constraint = interval(-1, 1);
  override get sign(): number {
    return 1;
  }
  protected forward(x: Tensor): Tensor {
    return tanh(x);
  }
  protected backward(y: Tensor): Tensor {
    return atanh(y);
  }
  /** Without the cancellation of log(1 - tanh² x). */
  override logAbsDetJacobian(x: Tensor): Tensor {
    return softplus(x.mul(-2)).add(x).neg().add(Math.LN2).mul(2);
  }
}

/** y = |x|. Its inverse gives the positive one. @see torch.distributions.transforms.AbsTransform */
export class AbsTransform extends Transform {
  readonly domain: Constraint = real;
  readonly codomain: Constraint = nonnegative;
  override readonly bijective: boolean = false;
  protected forward(x: Tensor): Tensor {
    return abs(x);
  }
  protected backward(y: Tensor): Tensor {
    return y;
  }
}

/** Options of `AffineTransform`. */
export interface AffineOptions extends TransformOptions {
  /** How many of the last dimensions are one event (default 0). */
  readonly eventDim?: number;
}

/** y = loc + scale · x. @see torch.distributions.transforms.AffineTransform */
export class AffineTransform extends Transform {
  static override readonly optionNames: Readonly<Record<keyof AffineOptions, true>> = {
    cacheSize: true,
    eventDim: true,
  };

  readonly eventDim: number;

  constructor(
    readonly loc: ParameterLike,
    readonly scale: ParameterLike,
    options: AffineOptions = {},
  ) {
    super(options);
    checkTensor('loc', loc, true);
    checkTensor('scale', scale, true);
    this.eventDim = options.eventDim ?? 0;
  }
  get domain(): Constraint {
    return independent(real, this.eventDim);
  }
  get codomain(): Constraint {
    return independent(real, this.eventDim);
  }
  override get sign(): Tensor | number {
    const { scale } = this;
    return isTensor(scale) ? sign(scale) : Math.sign(scale);
  }
  protected forward(x: Tensor): Tensor {
    return x.mul(this.scale).add(this.loc);
  }
  protected backward(y: Tensor): Tensor {
    return y.sub(this.loc).div(this.scale);
  }
  override logAbsDetJacobian(x: Tensor): Tensor {
    const { scale, eventDim } = this;
    const each = isTensor(scale)
      ? expand(log(abs(scale)), broadcastShapes([x.sizes, scale.sizes]))
      : fullLike(x, Math.log(Math.abs(scale)));
    return sumRightmost(each, eventDim);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    const tensors = [this.loc, this.scale].filter((part) => isTensor(part));
    return broadcastShapes([shape, ...tensors.map(({ sizes }) => sizes)]);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.forwardShape(shape);
  }
  protected override hasSame(other: AffineTransform): boolean {
    return this.loc === other.loc && this.scale === other.scale;
  }
}

/**
 * y = the distribution function of `distribution` at x.
 *
 * @see torch.distributions.transforms.CumulativeDistributionTransform
 * @throws invalid-argument for what is no distribution
 */
export class CumulativeDistributionTransform extends Transform {
  readonly codomain: Constraint = unitInterval;

  constructor(
    readonly distribution: Distribution,
    options: TransformOptions = {},
  ) {
    super(options);
    if (distribution instanceof Distribution) return;
    throw new TesseraError('invalid-argument', 'distribution must be a distribution.', {
      hints: ['Write new CumulativeDistributionTransform(new Normal(0, 1)).'],
    });
  }
  get domain(): Constraint {
    return this.distribution.support;
  }
  override get sign(): number {
    return 1;
  }
  protected forward(x: Tensor): Tensor {
    return this.distribution.cdf(x);
  }
  protected backward(y: Tensor): Tensor {
    return this.distribution.icdf(y);
  }
  override logAbsDetJacobian(x: Tensor): Tensor {
    return this.distribution.logProb(x);
  }
  protected override hasSame(other: CumulativeDistributionTransform): boolean {
    return this.distribution === other.distribution;
  }
}
