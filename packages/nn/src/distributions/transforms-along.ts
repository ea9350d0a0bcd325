/**
 * @file Transforms of the parts of a tensor along a dimension: `CatTransform`, `StackTransform`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, cat, stack } from '@tessera/tensor';
import { type Constraint, cat as catOf, stack as stackOf } from './constraints.js';
import { sumRightmost } from './sum-rightmost.js';
import { Transform, type TransformOptions, checkTransforms } from './transform.js';

/** Options of `StackTransform`. */
export interface StackTransformOptions extends TransformOptions {
  /** The dimension (default 0). */
  readonly dim?: number;
}

/** Options of `CatTransform`. */
export interface CatTransformOptions extends StackTransformOptions {
  /** How many places each part has (default 1 each). */
  readonly lengths?: readonly number[];
}

/** What they have in common. */
abstract class AlongTransform extends Transform {
  override readonly bijective: boolean;
  readonly dim: number;

  constructor(
    readonly transforms: readonly Transform[],
    options: StackTransformOptions,
  ) {
    const { dim = 0, ...others } = options ?? {};
    super(others);
    checkTransforms(new.target, transforms);
    this.dim = dim;
    this.bijective = transforms.every(({ bijective }) => bijective);
  }

  /** @throws shape-mismatch unless a tensor has the parts */
  protected checkSize(x: Tensor, size: number): void {
    const { dim } = this;
    const refuse = (message: string): never => {
      throw new TesseraError('shape-mismatch', message, {
        hints: ['The parts that the transforms take follow each other along dim.'],
      });
    };
    if (!(-x.ndim <= dim && dim < x.ndim))
      refuse(`dim ${dim} out of range for tensor with ${x.ndim} dimensions`);
    if (x.size(dim) !== size) refuse(`x.size(${dim}) = ${x.size(dim)} must equal length ${size}`);
  }

  protected override hasSame({ transforms, dim }: AlongTransform): boolean {
    return (
      dim === this.dim &&
      transforms.length === this.transforms.length &&
      transforms.every((each, i) => each.equals(this.transforms[i]!))
    );
  }
}

/** A transform for each run of places along a dimension. @see torch.distributions.transforms.CatTransform */
export class CatTransform extends AlongTransform {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof CatTransformOptions, true>> = {
    dim: true,
    lengths: true,
    cacheSize: true,
  };

  readonly lengths: readonly number[];

  /** @throws invalid-argument */
  constructor(transforms: readonly Transform[], options: CatTransformOptions = {}) {
    const { lengths, ...others } = options ?? {};
    super(transforms, others);
    this.lengths = lengths ?? transforms.map(() => 1);
    if (this.lengths.length !== transforms.length)
      throw new TesseraError(
        'invalid-argument',
        `lengths (${this.lengths.length}) must match transforms (${transforms.length})`,
        { hints: ['Give the number of places of each transform.'] },
      );
  }

  get domain(): Constraint {
    return catOf(
      this.transforms.map(({ domain }) => domain),
      { dim: this.dim, lengths: this.lengths },
    );
  }
  get codomain(): Constraint {
    return catOf(
      this.transforms.map(({ codomain }) => codomain),
      { dim: this.dim, lengths: this.lengths },
    );
  }

  private slices(x: Tensor): Tensor[] {
    const total = this.lengths.reduce((sum, length) => sum + length, 0);
    this.checkSize(x, total);
    return x.split([...this.lengths], this.dim);
  }

  protected forward(x: Tensor): Tensor {
    const parts = this.slices(x).map((part, i) => this.transforms[i]!.call(part));
    return cat(parts, this.dim);
  }
  protected backward(y: Tensor): Tensor {
    const parts = this.slices(y).map((part, i) => this.transforms[i]!.invert(part));
    return cat(parts, this.dim);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const { eventDim: dims = 0 } = this.domain;
    const after = this.slices(y);
    const terms = this.slices(x).map((part, i) => {
      const transform = this.transforms[i]!;
      const term = transform.logAbsDetJacobian(part, after[i]!);
      return sumRightmost(term, dims - (transform.domain.eventDim ?? 0));
    });
    const dim = (this.dim >= 0 ? this.dim - x.ndim : this.dim) + dims;
    return dim < 0 ? cat(terms, dim) : terms.reduce((sum, term) => sum.add(term));
  }
  protected override hasSame(other: CatTransform): boolean {
    return super.hasSame(other) && String(other.lengths) === String(this.lengths);
  }
}

/** A transform for each place along a dimension. @see torch.distributions.transforms.StackTransform */
export class StackTransform extends AlongTransform {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof StackTransformOptions, true>> = {
    dim: true,
    cacheSize: true,
  };

  /** @throws invalid-argument */
  constructor(transforms: readonly Transform[], options: StackTransformOptions = {}) {
    super(transforms, options);
  }

  get domain(): Constraint {
    return stackOf(
      this.transforms.map(({ domain }) => domain),
      { dim: this.dim },
    );
  }
  get codomain(): Constraint {
    return stackOf(
      this.transforms.map(({ codomain }) => codomain),
      { dim: this.dim },
    );
  }

  private slices(x: Tensor): Tensor[] {
    this.checkSize(x, this.transforms.length);
    return this.transforms.map((_, i) => x.select(this.dim, i));
  }

  protected forward(x: Tensor): Tensor {
    const parts = this.slices(x).map((part, i) => this.transforms[i]!.call(part));
    return stack(parts, this.dim);
  }
  protected backward(y: Tensor): Tensor {
    const parts = this.slices(y).map((part, i) => this.transforms[i]!.invert(part));
    return stack(parts, this.dim);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const after = this.slices(y);
    const terms = this.slices(x).map((part, i) =>
      this.transforms[i]!.logAbsDetJacobian(part, after[i]!),
    );
    return stack(terms, this.dim);
  }
}
