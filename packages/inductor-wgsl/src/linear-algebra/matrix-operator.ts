/** @file What computes an operator of linear algebra. */
import type { Tensor } from '@tessera/tensor';
import type { WgpuRuntime } from '../runtime/device/wgpu-runtime.js';

/** Computes an operator: its arguments by name, and its results to fill. */
export type MatrixOperator<Args> = (
  runtime: WgpuRuntime,
  args: Args,
  outs: readonly Tensor[],
) => void;
