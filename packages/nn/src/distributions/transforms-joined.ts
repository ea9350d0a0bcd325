/**
 * @file Transforms of parts of a tensor, side by side: `CatTransform` and `StackTransform`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, cat, stack } from '@tessera/tensor';
import { checkNumbers, checkShapes } from '../module/check-options.js';
import { type Constraint, catOf, stackOf } from './constraints.js';
import { sumRightmost } from './sum-rightmost.js';
import { Transform, type TransformOptions, checkTransforms } from './transform.js';

const dimOf = ({ eventDim = 0 }: Constraint): number => eventDim;

/** @throws shape-mismatch unless dimension `dim` of a tensor has the size of the parts together */
function checkSize(name: string, x: Tensor, dim: number, size: number, what: string): void {
  const refuse = (message: string): never => {
    throw new TesseraError('shape-mismatch', message, {
      hints: ['The parts cover the dimension that they are beside each other in.'],
    });
  };
  if (!(dim >= -x.ndim && dim < x.ndim))
    refuse(`dim ${dim} out of range for ${name} with ${x.ndim} dimensions`);
  if (x.size(dim) !== size)
    refuse(`${name}.size(${dim}) = ${x.size(dim)} must equal ${what} ${size}`);
}

/** Options of `CatTransform`. */
export interface CatTransformOptions extends TransformOptions {
  /** The dimension that the parts are beside each other in (default 0). */
  readonly dim?: number;
  /** The size of each part in it (default 1). */
  readonly lengths?: readonly number[];
}

/** Each transform on its part of a dimension, as `cat` joins them. @see torch.distributions.transforms.CatTransform */
export class CatTransform extends Transform {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof CatTransformOptions, true>> = {
    cacheSize: true,
    dim: true,
    lengths: true,
  };
  override readonly bijective: boolean;
  readonly dim: number;
  readonly lengths: readonly number[];

  /** @throws invalid-argument */
  constructor(
    readonly transforms: readonly Transform[],
    options: CatTransformOptions = {},
  ) {
    super(options);
    checkTransforms(new.target, transforms);
    const { dim = 0, lengths = transforms.map(() => 1) } = options;
    checkNumbers(new.target, { dim });
    checkShapes(new.target, { lengths });
    if (lengths.length !== transforms.length)
      throw new TesseraError(
        'invalid-argument',
        `lengths (${lengths.length}) must match transforms (${transforms.length})`,
        { hints: ['Give the size of the part of each transform.'] },
      );
    this.dim = dim;
    this.lengths = [...lengths];
    this.bijective = transforms.every((part) => part.bijective);
  }

  get domain(): Constraint {
    return catOf(
      this.transforms.map((part) => part.domain),
      this.dim,
      this.lengths,
    );
  }
  get codomain(): Constraint {
    return catOf(
      this.transforms.map((part) => part.codomain),
      this.dim,
      this.lengths,
    );
  }
  /** The size of all parts together. */
  get length(): number {
    return this.lengths.reduce((a, b) => a + b, 0);
  }

  private parts(name: string, x: Tensor): Tensor[] {
    checkSize(name, x, this.dim, this.length, 'length');
    let start = 0;
    return this.lengths.map((length) => {
      const part = x.narrow(this.dim, start, length);
      start += length;
      return part;
    });
  }

  protected forward(x: Tensor): Tensor {
    const parts = this.parts('x', x);
    return cat(
      this.transforms.map((each, i) => each.call(parts[i]!)),
      this.dim,
    );
  }
  protected backward(y: Tensor): Tensor {
    const parts = this.parts('y', y);
    return cat(
      this.transforms.map((each, i) => each.invert(parts[i]!)),
      this.dim,
    );
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const [from, to] = [this.parts('x', x), this.parts('y', y)];
    const dims = Math.max(...this.transforms.map(({ domain }) => dimOf(domain)));
    const terms = this.transforms.map((each, i) =>
      sumRightmost(each.logAbsDetJacobian(from[i]!, to[i]!), dims - dimOf(each.domain)),
    );
    // Joined if the dimension is one of the batch, added if it belongs to the event.
    const dim = (this.dim >= 0 ? this.dim - x.ndim : this.dim) + dims;
    return dim < 0 ? cat(terms, dim) : terms.reduce((total, term) => total.add(term));
  }
  protected override hasSame({ transforms, dim, lengths }: CatTransform): boolean {
    return (
      dim === this.dim &&
      transforms.length === this.transforms.length &&
      lengths.every((length, i) => length === this.lengths[i]) &&
      transforms.every((each, i) => each.equals(this.transforms[i]!))
    );
  }
}

/** Options of `StackTransform`. */
export interface StackTransformOptions extends TransformOptions {
  /** The dimension of the parts (default 0). */
  readonly dim?: number;
}

/** Each transform on its place of a dimension, as `stack` joins them. @see torch.distributions.transforms.StackTransform */
export class StackTransform extends Transform {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof StackTransformOptions, true>> = {
    cacheSize: true,
    dim: true,
  };
  override readonly bijective: boolean;
  readonly dim: number;

  /** @throws invalid-argument */
  constructor(
    readonly transforms: readonly Transform[],
    options: StackTransformOptions = {},
  ) {
    super(options);
    checkTransforms(new.target, transforms);
    const { dim = 0 } = options;
    checkNumbers(new.target, { dim });
    this.dim = dim;
    this.bijective = transforms.every((part) => part.bijective);
  }

  get domain(): Constraint {
    return stackOf(
      this.transforms.map((part) => part.domain),
      this.dim,
    );
  }
  get codomain(): Constraint {
    return stackOf(
      this.transforms.map((part) => part.codomain),
      this.dim,
    );
  }

  private parts(name: string, x: Tensor): Tensor[] {
    checkSize(name, x, this.dim, this.transforms.length, 'len(transforms)');
    return x.unbind(this.dim);
  }

  protected forward(x: Tensor): Tensor {
    const parts = this.parts('x', x);
    return stack(
      this.transforms.map((each, i) => each.call(parts[i]!)),
      this.dim,
    );
  }
  protected backward(y: Tensor): Tensor {
    const parts = this.parts('y', y);
    return stack(
      this.transforms.map((each, i) => each.invert(parts[i]!)),
      this.dim,
    );
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const [from, to] = [this.parts('x', x), this.parts('y', y)];
    return stack(
      this.transforms.map((each, i) => each.logAbsDetJacobian(from[i]!, to[i]!)),
      this.dim,
    );
  }
  protected override hasSame({ transforms, dim }: StackTransform): boolean {
    return (
      dim === this.dim &&
      transforms.length === this.transforms.length &&
      transforms.every((each, i) => each.equals(this.transforms[i]!))
    );
  }
}
