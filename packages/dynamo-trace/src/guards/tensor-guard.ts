/**
 * @file Guards on the metadata of a tensor, with PyTorch's words when they fail.
 */
import { printExpected, tensorMismatch } from '@tessera/graph';
import { type DType, type DeviceType, type Tensor } from '@tessera/tensor';
import { requiresGrad, sameNumbers } from '@tessera/tensor/internal';

/**
 * What compiled code assumes of a tensor. Guards are interned: equal ones are one object, so a tensor
 * that passed once (its `guardSpec` is that object) passes again by one comparison.
 */
export class TensorGuard {
  private constructor(
    readonly dtype: DType,
    readonly device: DeviceType,
    readonly sizes: readonly number[],
    readonly strides: readonly number[],
    readonly requiresGrad: boolean,
  ) {}

  private static readonly interned = new Map<string, WeakRef<TensorGuard>>();
  private static readonly forgotten = new FinalizationRegistry<string>((key) => {
    if (TensorGuard.interned.get(key)?.deref() === undefined) TensorGuard.interned.delete(key);
  });

  /** The guard that a tensor satisfies as it is now. */
  static of(tensor: Tensor): TensorGuard {
    if (
      tensor.guardSpec instanceof TensorGuard &&
      requiresGrad(tensor) === tensor.guardSpec.requiresGrad
    )
      return tensor.guardSpec;
    const grad = requiresGrad(tensor);
    const key = `${tensor.dtype}|${tensor.device}|${tensor.sizes.join()}|${tensor.strides.join()}|${grad}`;
    let guard = TensorGuard.interned.get(key)?.deref();
    if (guard === undefined) {
      guard = new TensorGuard(tensor.dtype, tensor.device, tensor.sizes, tensor.strides, grad);
      TensorGuard.interned.set(key, new WeakRef(guard));
      TensorGuard.forgotten.register(guard, key);
    }
    tensor.guardSpec = guard;
    return guard;
  }

  /** Whether the tensor is as assumed. */
  check(tensor: Tensor): boolean {
    if (tensor.guardSpec === this && tensor.requiresGradFlag === this.requiresGrad) return true;
    if (tensor.dtype !== this.dtype || tensor.device !== this.device) return false;
    if (requiresGrad(tensor) !== this.requiresGrad) return false;
    if (
      !sameNumbers(tensor.sizes, this.sizes) ||
      !stridesMatch(this.sizes, tensor.strides, this.strides)
    )
      return false;
    tensor.guardSpec = this;
    return true;
  }

  /** Why a tensor fails, in PyTorch's words; null if it passes. `name` is its source. */
  explain(tensor: Tensor, name: string): string | null {
    return tensorMismatch(tensor, name, this);
  }

  toString(): string {
    return printExpected(this);
  }
}

/** Strides of dims of size 1 do not matter. */
function stridesMatch(
  sizes: readonly number[],
  a: readonly number[],
  b: readonly number[],
): boolean {
  for (let i = 0; i < sizes.length; i++) if (a[i] !== b[i] && sizes[i] !== 1) return false;
  return true;
}
