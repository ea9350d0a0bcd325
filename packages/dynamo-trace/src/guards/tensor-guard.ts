/**
 * @file Guards on the metadata of a tensor, with PyTorch's words when they fail.
 */
import {
  type DType,
  type DeviceType,
  type Tensor,
  requiresGrad,
  sameNumbers,
} from '@tessera/tensor';
import { metadataChange } from './metadata-change.js';

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
    const change = metadataChange(tensor, name, this, this.sizes);
    if (change !== null) return change;
    for (let i = 0; i < this.strides.length; i++) {
      if (tensor.strides[i] !== this.strides[i] && this.sizes[i] !== 1) {
        return `tensor '${name}' stride mismatch at index ${i}. expected ${this.strides[i]}, actual ${tensor.strides[i]}`;
      }
    }
    return null;
  }

  /** `TENSOR_MATCH float32 cpu [2, 3] strides [3, 1] requires_grad` */
  toString(): string {
    return `TENSOR_MATCH ${this.dtype} ${this.device} [${this.sizes.join(', ')}] strides [${this.strides.join(', ')}]${this.requiresGrad ? ' requires_grad' : ''}`;
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
