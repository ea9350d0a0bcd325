/**
 * @file Guards on inputs of an exported graph some of whose sizes are symbols.
 */
import type { GraphSymbols, SymbolicShape } from '@tessera/graph';
import type { DType, Tensor } from '@tessera/tensor';
import { metadataChange } from './metadata-change.js';

/** What does not depend on sizes, and the layout that follows from them. */
export class SymbolicTensorGuard {
  constructor(
    readonly dtype: DType,
    readonly device: string,
    readonly shape: SymbolicShape,
    readonly requiresGrad: boolean,
  ) {}

  /** Why a tensor fails on what no symbol decides, in PyTorch's words; null if it passes. */
  explain(tensor: Tensor, name: string): string | null {
    return metadataChange(tensor, name, this, this.shape.sizes);
  }

  /** Why the layout of a tensor fails at the values of the symbols; null if it passes. */
  explainStrides(
    tensor: Tensor,
    name: string,
    symbols: GraphSymbols,
    values: readonly number[],
  ): string | null {
    for (const [i, stride] of this.shape.strides.entries()) {
      if (stride === null || tensor.sizes[i] === 1) continue;
      const expected = symbols.compile(stride)(values);
      if (tensor.strides[i] !== expected)
        return `tensor '${name}' stride mismatch at index ${i}. expected ${expected}, actual ${tensor.strides[i]}`;
    }
    return null;
  }

  /** `TENSOR_MATCH float32 cpu [s0, 3] strides [3, 1] requires_grad` */
  toString(): string {
    const { sizes, strides } = this.shape;
    const list = (ints: readonly unknown[]): string =>
      ints.map((int) => String(int ?? '?')).join(', ');
    return `TENSOR_MATCH ${this.dtype} ${this.device} [${list(sizes)}] strides [${list(strides)}]${this.requiresGrad ? ' requires_grad' : ''}`;
  }
}
