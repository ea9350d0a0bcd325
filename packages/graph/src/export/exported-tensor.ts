/**
 * @file What an input of an exported graph must be; some of its sizes and strides may be symbols.
 */
import type { Size } from '@tessera/shared';
import type { DType, DeviceType, Tensor } from '@tessera/tensor';
import {
  type ExpectedTensor,
  printExpected,
  strideMismatch,
  tensorMismatch,
} from '../ir/expected-tensor.js';
import type { GraphSymbols } from '../symbolic/graph-symbols.js';
import type { SymbolicShape } from '../symbolic/symbolic-shape.js';

/** See the file header. */
export class ExportedTensor implements ExpectedTensor {
  readonly sizes: readonly Size[];
  readonly strides: readonly (Size | null)[];

  constructor(
    readonly dtype: DType,
    readonly device: DeviceType,
    { sizes, strides }: SymbolicShape,
    readonly requiresGrad: boolean,
  ) {
    this.sizes = sizes;
    this.strides = strides;
  }

  /** What a tensor is now. */
  static of({ dtype, device, sizes, strides, requiresGrad }: Tensor): ExportedTensor {
    return new ExportedTensor(dtype, device, { sizes, strides }, requiresGrad);
  }

  /** Why a tensor fails on what no symbol decides, in PyTorch's words; null if it passes. */
  explain(tensor: Tensor, name: string): string | null {
    return tensorMismatch(tensor, name, this);
  }

  /** Why the layout of a tensor fails at the values of the symbols; null if it passes. */
  explainStrides(
    tensor: Tensor,
    name: string,
    symbols: GraphSymbols,
    values: readonly number[],
  ): string | null {
    for (const [i, stride] of this.strides.entries()) {
      if (stride === null || typeof stride === 'number' || tensor.sizes[i] === 1) continue;
      const expected = symbols.compile(stride)(values);
      if (tensor.strides[i] !== expected) return strideMismatch(tensor, name, i, expected);
    }
    return null;
  }

  toString(): string {
    return printExpected(this, (size: Size | null) => String(size ?? '?'));
  }
}
