/**
 * @file What a row of `pnpm bench card` runs.
 */
import { type DType, type Tensor, randn } from '@tessera/tensor';

/** A workload whose inputs are made on the device. */
export interface CardWorkload {
  /** As in `data/torch-h200.json`. */
  readonly name: string;
  /** Shapes and what is done. */
  readonly about: string;
  /** µs that it should take on an H200; null where PyTorch's figures are the goal. */
  readonly goal: number | null;
  /** Makes inputs, and a round that releases what it makes. */
  prepare(isSmall: boolean): () => void;
}

/** Random numbers on the device. */
export function normal(shape: readonly number[], dtype: DType = 'float32'): Tensor {
  const drawn = randn(shape, { device: 'wgpu' });
  if (dtype === 'float32') return drawn;
  const made = drawn.to(dtype);
  drawn.dispose();
  return made;
}

/** The same, with a gradient. */
export function leaf(shape: readonly number[], dtype: DType = 'float32'): Tensor {
  return normal(shape, dtype).requiresGrad_();
}
