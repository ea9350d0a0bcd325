/**
 * @file Transforms made of others, and of shapes.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor, zerosLike } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { checkNumbers, checkShapes } from '../module/check-options.js';
import { type Constraint, independent, real } from './constraints.js';
import { sumRightmost } from './sum-rightmost.js';
import { Transform, type TransformOptions, checkTransforms } from './transform.js';

const dimOf = ({ eventDim = 0 }: Constraint): number => eventDim;

/** One after the other. @see torch.distributions.transforms.ComposeTransform */
export class ComposeTransform extends Transform {
  override readonly bijective: boolean;

  constructor(
    readonly parts: readonly Transform[],
    options: TransformOptions = {},
  ) {
    super(options);
    checkTransforms(new.target, parts);
    this.bijective = parts.every((part) => part.bijective);
  }
  get domain(): Constraint {
    const [first] = this.parts;
    if (first === undefined) return real;
    let dims = dimOf(this.parts.at(-1)!.codomain);
    for (const { domain, codomain } of [...this.parts].reverse())
      dims = Math.max(dims + dimOf(domain) - dimOf(codomain), dimOf(domain));
    return independent(first.domain, dims - dimOf(first.domain));
  }
  get codomain(): Constraint {
    const last = this.parts.at(-1);
    if (last === undefined) return real;
    let dims = dimOf(this.parts[0]!.domain);
    for (const { domain, codomain } of this.parts)
      dims = Math.max(dims + dimOf(codomain) - dimOf(domain), dimOf(codomain));
    return independent(last.codomain, dims - dimOf(last.codomain));
  }
  override get sign(): Tensor | number {
    return this.parts.reduce<Tensor | number>((sign, part) => {
      const other = part.sign;
      if (isTensor(sign)) return sign.mul(other);
      return isTensor(other) ? other.mul(sign) : sign * other;
    }, 1);
  }
  protected forward(x: Tensor): Tensor {
    return this.parts.reduce((value, part) => part.call(value), x);
  }
  protected backward(y: Tensor): Tensor {
    return this.parts.reduceRight((value, part) => part.invert(value), y);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const { parts } = this;
    let [total, dims, value]: [Tensor | null, number, Tensor] = [null, dimOf(this.domain), x];
    parts.forEach((part, i) => {
      const after = i === parts.length - 1 ? y : part.call(value);
      const term = sumRightmost(part.logAbsDetJacobian(value, after), dims - dimOf(part.domain));
      total = total === null ? term : total.add(term);
      dims += dimOf(part.codomain) - dimOf(part.domain);
      value = after;
    });
    return total ?? zerosLike(x);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return this.parts.reduce((sizes, part) => part.forwardShape(sizes), shape);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.parts.reduceRight((sizes, part) => part.inverseShape(sizes), shape);
  }
  protected override hasSame({ parts }: ComposeTransform): boolean {
    return (
      parts.length === this.parts.length && parts.every((part, i) => part.equals(this.parts[i]!))
    );
  }
}

/** What changes nothing. @see torch.distributions.transforms.identity_transform */
export function identityTransform(): ComposeTransform {
  return new ComposeTransform([]);
}

/** A transform whose `count` dimensions before the event belong to it. @see torch.distributions.transforms.IndependentTransform */
export class IndependentTransform extends Transform {
  override readonly bijective: boolean;

  constructor(
    readonly base: Transform,
    readonly reinterpretedBatchNdims: number,
    options: TransformOptions = {},
  ) {
    super(options);
    checkTransforms(new.target, [base]);
    checkNumbers(new.target, { reinterpretedBatchNdims });
    this.bijective = base.bijective;
  }
  get domain(): Constraint {
    return independent(this.base.domain, this.reinterpretedBatchNdims);
  }
  get codomain(): Constraint {
    return independent(this.base.codomain, this.reinterpretedBatchNdims);
  }
  override get sign(): Tensor | number {
    return this.base.sign;
  }
  protected forward(x: Tensor): Tensor {
    return this.base.call(x);
  }
  protected backward(y: Tensor): Tensor {
    return this.base.invert(y);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return sumRightmost(this.base.logAbsDetJacobian(x, y), this.reinterpretedBatchNdims);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return this.base.forwardShape(shape);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.base.inverseShape(shape);
  }
  protected override hasSame(other: IndependentTransform): boolean {
    const { base, reinterpretedBatchNdims } = other;
    return reinterpretedBatchNdims === this.reinterpretedBatchNdims && this.base.equals(base);
  }
}

/** The last dimensions as others. @see torch.distributions.transforms.ReshapeTransform */
export class ReshapeTransform extends Transform {
  /** @throws shape-mismatch for another number of elements */
  constructor(
    readonly inShape: readonly number[],
    readonly outShape: readonly number[],
    options: TransformOptions = {},
  ) {
    super(options);
    checkShapes(new.target, { inShape, outShape });
    const count = (shape: readonly number[]): number => shape.reduce((n, size) => n * size, 1);
    if (count(inShape) !== count(outShape))
      throw new TesseraError(
        'shape-mismatch',
        'in_shape, out_shape have different numbers of elements',
        { hints: [`${formatSizes(inShape)} and ${formatSizes(outShape)} were given.`] },
      );
  }
  get domain(): Constraint {
    return independent(real, this.inShape.length);
  }
  get codomain(): Constraint {
    return independent(real, this.outShape.length);
  }
  protected forward(x: Tensor): Tensor {
    return x.reshape(this.forwardShape(x.sizes));
  }
  protected backward(y: Tensor): Tensor {
    return y.reshape(this.inverseShape(y.sizes));
  }
  override logAbsDetJacobian(x: Tensor): Tensor {
    return x.newZeros(x.sizes.slice(0, x.ndim - this.inShape.length));
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return reshaped(shape, this.inShape, this.outShape);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return reshaped(shape, this.outShape, this.inShape);
  }
  protected override hasSame(other: ReshapeTransform): boolean {
    return (
      formatSizes(this.inShape) === formatSizes(other.inShape) &&
      formatSizes(this.outShape) === formatSizes(other.outShape)
    );
  }
}

function reshaped(
  shape: readonly number[],
  from: readonly number[],
  to: readonly number[],
): readonly number[] {
  const cut = shape.length - from.length;
  if (cut < 0) throw tooFew();
  if (from.some((size, i) => size !== shape[cut + i]))
    throw new TesseraError(
      'shape-mismatch',
      `Shape mismatch: expected ${formatSizes(shape.slice(cut))} but got ${formatSizes(from)}`,
      { hints: ['The last sizes must be those that the transform was made for.'] },
    );
  return [...shape.slice(0, cut), ...to];
}

/** The error of a tensor that is no event. */
export function tooFew(): TesseraError {
  return new TesseraError('shape-mismatch', 'Too few dimensions on input', {
    hints: ['The transform is one of the last dimensions.'],
  });
}
