/**
 * @file `Transform`: functions of samples that know their inverse and how they stretch.
 *
 * Modelled on `torch.distributions.transforms`; y = transform.call(x), as modules are called.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkOptions } from '../module/check-options.js';
import type { Constraint } from './constraints.js';

/** Options of transforms. */
export interface TransformOptions {
  /** 1: the last argument and result are kept, so that the inverse of a result just made is exact (default 0). */
  readonly cacheSize?: 0 | 1;
}

/** @throws invalid-argument */
export function without(transform: object, name: string): TesseraError {
  return new TesseraError('invalid-argument', `${transform.constructor.name} has no ${name}.`, {
    hints: ['Compose it of transforms that have one.'],
  });
}

/** @throws invalid-argument unless what a class is made of is a list of transforms */
export function checkTransforms(owner: { readonly name: string }, parts: unknown): void {
  if (Array.isArray(parts) && parts.every((part) => part instanceof Transform)) return;
  throw new TesseraError('invalid-argument', `${owner.name} is made of transforms.`, {
    hints: ['Give one as new ExpTransform(); ComposeTransform takes a list of them.'],
  });
}

/** See the file header. */
export abstract class Transform {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<string, true>> = { cacheSize: true };

  /** What it takes. */
  abstract readonly domain: Constraint;
  /** What it gives. */
  abstract readonly codomain: Constraint;
  /** Whether it has an inverse. */
  readonly bijective: boolean = true;
  private readonly cacheSize: 0 | 1;
  private cached: readonly [x: Tensor, y: Tensor] | null = null;
  private inverse: Transform | null = null;

  /** @throws invalid-argument */
  constructor(options: TransformOptions = {}) {
    checkOptions(new.target, options);
    const { cacheSize = 0 } = options;
    if (cacheSize !== 0 && cacheSize !== 1)
      throw new TesseraError('invalid-argument', 'cacheSize must be 0 or 1', {
        hints: ['1 keeps the last argument and result.'],
      });
    this.cacheSize = cacheSize;
  }

  /** 1 or -1: whether it rises or falls. @throws invalid-argument where it does neither */
  get sign(): Tensor | number {
    throw without(this, 'sign');
  }

  /** The inverse, whose own inverse is this. */
  get inv(): Transform {
    return (this.inverse ??= new InverseTransform(this));
  }

  /** f(x). */
  call(x: Tensor): Tensor {
    if (this.cacheSize === 0) return this.forward(x);
    if (this.cached?.[0] === x) return this.cached[1];
    const y = this.forward(x);
    this.cached = [x, y];
    return y;
  }

  /** x of f(x). */
  invert(y: Tensor): Tensor {
    if (this.cacheSize === 0) return this.backward(y);
    if (this.cached?.[1] === y) return this.cached[0];
    const x = this.backward(y);
    this.cached = [x, y];
    return x;
  }

  protected abstract forward(x: Tensor): Tensor;
  /** @throws invalid-argument where there is no inverse */
  protected abstract backward(y: Tensor): Tensor;

  /** log |det dy/dx|, without the dimensions of an event. @throws invalid-argument where there is no formula */
  logAbsDetJacobian(_x: Tensor, _y: Tensor): Tensor {
    throw without(this, 'logAbsDetJacobian()');
  }

  /** The shape of f(x). */
  forwardShape(shape: readonly number[]): readonly number[] {
    return shape;
  }

  /** The shape of x. */
  inverseShape(shape: readonly number[]): readonly number[] {
    return shape;
  }

  /** Whether another is known to be the same function. */
  equals(other: Transform): boolean {
    return this === other || (this.constructor === other.constructor && this.hasSame(other));
  }

  /** Whether another of the same class has the same parameters. */
  protected hasSame(_other: Transform): boolean {
    return true;
  }
}

/** f⁻¹ as a transform. */
class InverseTransform extends Transform {
  constructor(private readonly of: Transform) {
    super();
  }
  get domain(): Constraint {
    return this.of.codomain;
  }
  get codomain(): Constraint {
    return this.of.domain;
  }
  override get sign(): Tensor | number {
    return this.of.sign;
  }
  override get inv(): Transform {
    return this.of;
  }
  protected forward(x: Tensor): Tensor {
    return this.of.invert(x);
  }
  protected backward(y: Tensor): Tensor {
    return this.of.call(y);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return this.of.logAbsDetJacobian(y, x).neg();
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return this.of.inverseShape(shape);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.of.forwardShape(shape);
  }
  protected override hasSame(other: InverseTransform): boolean {
    return this.of.equals(other.of);
  }
}
