/**
 * @file Guards on the metadata of a tensor, with PyTorch's words when they fail.
 */
import { printExpected, tensorMismatch } from '@tessera/graph';
import { type DType, type DeviceType, type Tensor } from '@tessera/tensor';
import { requiresGrad, sameNumbers } from '@tessera/tensor/internal';
import type { Frame } from '../frame/frame.js';
import { type IntPattern, matchInt, printInt } from '../trace/int-pattern.js';

/**
 * What compiled code assumes of a tensor; sizes and strides may be expressions of symbols, which checking binds.
 * Guards of numbers are interned: equal ones are one object, so a tensor that passed once (its `guardSpec` is that
 * object) passes again by one comparison.
 */
export class TensorGuard {
  private constructor(
    readonly dtype: DType,
    readonly device: DeviceType,
    readonly sizes: readonly IntPattern[],
    readonly strides: readonly IntPattern[],
    readonly requiresGrad: boolean,
    /** Whether a size or stride is an expression of symbols. */
    readonly isSymbolic: boolean,
  ) {}

  private static readonly interned = new Map<string, WeakRef<TensorGuard>>();
  private static readonly forgotten = new FinalizationRegistry<string>((key) => {
    if (TensorGuard.interned.get(key)?.deref() === undefined) TensorGuard.interned.delete(key);
  });

  /** The guard that a tensor satisfies as it is now. */
  static of(tensor: Tensor): TensorGuard {
    const spec = tensor.guardSpec;
    const grad = requiresGrad(tensor);
    if (spec instanceof TensorGuard && grad === spec.requiresGrad) return spec;
    const { dtype, device, sizes, strides } = tensor;
    const key = `${dtype}|${device}|${sizes.join()}|${strides.join()}|${grad}`;
    let guard = TensorGuard.interned.get(key)?.deref();
    if (guard === undefined) {
      guard = new TensorGuard(dtype, device, sizes, strides, grad, false);
      TensorGuard.interned.set(key, new WeakRef(guard));
      TensorGuard.forgotten.register(guard, key);
    }
    tensor.guardSpec = guard;
    return guard;
  }

  /** The guard that a tensor satisfies as it is now, with the given sizes and strides. */
  static symbolic(
    tensor: Tensor,
    sizes: readonly IntPattern[],
    strides: readonly IntPattern[],
  ): TensorGuard {
    const { dtype, device } = tensor;
    return new TensorGuard(dtype, device, sizes, strides, requiresGrad(tensor), true);
  }

  /**
   * Whether the tensor is as assumed; symbols bound on a failed check are for the caller to take back.
   *
   * @param frame where symbols are bound; a guard of numbers needs none
   */
  check(tensor: Tensor, frame: Frame | null = null): boolean {
    if (tensor.guardSpec === this && tensor.requiresGradFlag === this.requiresGrad) return true;
    if (tensor.dtype !== this.dtype || tensor.device !== this.device) return false;
    if (requiresGrad(tensor) !== this.requiresGrad) return false;
    if (this.isSymbolic) return this.bind(tensor, frame!);
    const { sizes, strides } = tensor;
    if (!sameNumbers(sizes, this.sizes as readonly number[])) return false;
    for (let i = 0; i < sizes.length; i++)
      if (strides[i] !== this.strides[i] && sizes[i] !== 1) return false;
    tensor.guardSpec = this;
    return true;
  }

  /** Strides of dims of size 1 do not matter. */
  private bind({ sizes, strides }: Tensor, frame: Frame): boolean {
    if (sizes.length !== this.sizes.length) return false;
    for (let i = 0; i < sizes.length; i++)
      if (!matchInt(this.sizes[i]!, sizes[i], frame)) return false;
    for (let i = 0; i < strides.length; i++)
      if (sizes[i] !== 1 && !matchInt(this.strides[i]!, strides[i], frame)) return false;
    return true;
  }

  /** Why a tensor fails on what is not symbolic, in PyTorch's words; null if it passes. `name` is its source. */
  explain(tensor: Tensor, name: string): string | null {
    return tensorMismatch(tensor, name, this);
  }

  toString(): string {
    return printExpected(this, printInt);
  }
}
