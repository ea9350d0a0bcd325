/**
 * @file Operators that the device computes by programs of their own instead of fused kernels (`useLinearAlgebra`).
 */
import type { Tensor } from '@tessera/tensor';
import type { WgpuRuntime } from './device/wgpu-runtime.js';

/** Fills the results of a call, whose arguments it gets by name. */
export type OwnOperator = (runtime: WgpuRuntime, args: never, outs: readonly Tensor[]) => void;

/** By qualified name. */
export const ownOperators: Map<string, OwnOperator> = new Map();
