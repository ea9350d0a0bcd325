/**
 * @file `ExecutionPlan`: everything needed to run a compiled graph, as a plain serialisable value.
 *
 * It is what a backend loads, what is cached on disk and what is shipped ahead of time. It holds no
 * functions and no tensors but embedded constants. Buffers are contiguous runs of elements; layouts
 * live in the kernels' index expressions.
 */
import type { DType, DeviceType } from '@tessera/tensor';
import type { FusedKernel } from '../ir/kernel.js';

/** Where a buffer's memory comes from. */
export type BufferSource =
  /** Argument number `index` of `run`. Element 0 is the tensor's own element 0 (its storage offset applied by the runtime). */
  | { readonly kind: 'input'; readonly index: number }
  /** Output number `index` of `run`, allocated by the caller. */
  | { readonly kind: 'output'; readonly index: number }
  /** Scratch inside the plan's arena, `offset` bytes from its start (64-byte aligned). */
  | { readonly kind: 'arena'; readonly offset: number }
  /** A constant embedded in the plan. */
  | { readonly kind: 'constant'; readonly index: number };

/** A buffer of a plan. A kernel may write an `input` buffer: that is how a mutation of an argument is expressed. */
export interface PlanBuffer {
  readonly name: string;
  readonly dtype: DType;
  /** Elements reachable from element 0. */
  readonly numel: number;
  readonly source: BufferSource;
}

/** One kernel launch: buffers and scalars in the order of the kernel's parameters, by index into the plan. */
export interface Launch {
  readonly kernel: number;
  readonly buffers: readonly number[];
  readonly scalars: readonly number[];
}

/** Layout of an output that `run` fills, for the caller who allocates it. */
export interface PlanOutput {
  readonly dtype: DType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** See the file header. Launches run in order; each sees the writes of those before it. */
export interface ExecutionPlan {
  readonly version: 1;
  readonly name: string;
  readonly device: DeviceType;
  readonly buffers: readonly PlanBuffer[];
  /** Number of `input` arguments of `run`. */
  readonly numInputs: number;
  readonly outputs: readonly PlanOutput[];
  /** Runtime scalars in the order that `run` takes them. */
  readonly scalars: readonly { readonly name: string; readonly dtype: DType }[];
  /** Where the random generator's state goes: indices of the seed and offset in `scalars`, and the offsets that one run draws. */
  readonly rng?: { readonly seed: number; readonly offset: number; readonly count: number };
  readonly constants: readonly { readonly dtype: DType; readonly values: readonly number[] }[];
  readonly kernels: readonly FusedKernel[];
  readonly launches: readonly Launch[];
  readonly arenaBytes: number;
}
