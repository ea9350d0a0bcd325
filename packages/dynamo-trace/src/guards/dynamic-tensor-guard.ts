/**
 * @file Guards on tensors some of whose sizes are symbols.
 */
import { printExpected, tensorMismatch } from '@tessera/graph';
import { type DeviceType, type DType, type Tensor } from '@tessera/tensor';
import { requiresGrad } from '@tessera/tensor/internal';
import { type IntPattern, type SymbolBindings, matchInt, printInt } from '../trace/int-pattern.js';

/** As `TensorGuard`, with sizes and strides that may be expressions of symbols. Checking binds the symbols. */
export class DynamicTensorGuard {
  private constructor(
    readonly dtype: DType,
    readonly device: DeviceType,
    readonly sizes: readonly IntPattern[],
    readonly strides: readonly IntPattern[],
    readonly requiresGrad: boolean,
  ) {}

  /** The guard that a tensor satisfies as it is now, with the given sizes and strides. */
  static of(
    tensor: Tensor,
    sizes: readonly IntPattern[],
    strides: readonly IntPattern[],
  ): DynamicTensorGuard {
    return new DynamicTensorGuard(
      tensor.dtype,
      tensor.device,
      sizes,
      strides,
      requiresGrad(tensor),
    );
  }

  /** Whether the tensor is as assumed; symbols bound on a failed check are for the caller to take back. */
  check(tensor: Tensor, run: SymbolBindings): boolean {
    if (tensor.dtype !== this.dtype || tensor.device !== this.device) return false;
    if (requiresGrad(tensor) !== this.requiresGrad || tensor.ndim !== this.sizes.length)
      return false;
    for (let i = 0; i < this.sizes.length; i++)
      if (!matchInt(this.sizes[i]!, tensor.sizes[i], run)) return false;
    for (let i = 0; i < this.strides.length; i++)
      if (tensor.sizes[i] !== 1 && !matchInt(this.strides[i]!, tensor.strides[i], run))
        return false;
    return true;
  }

  /** Why a tensor fails on what is not symbolic, in PyTorch's words; null if it passes. */
  explain(tensor: Tensor, name: string): string | null {
    return tensorMismatch(tensor, name, this);
  }

  toString(): string {
    return printExpected(this, printInt);
  }
}
