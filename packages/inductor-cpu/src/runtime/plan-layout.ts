/**
 * @file The plan block: one piece of memory per loaded plan that tells its kernels where everything is.
 *
 *     i32 × inputs    addresses of the arguments, written by every run
 *     i32 × outputs   addresses of the outputs, written by every run
 *     i32             address of the arena, written by every run
 *     i32             arena address that the argument blocks below hold
 *     f64 × scalars   written by every run
 *     i32 × launches  items of each launch            (only in templates)
 *     i32 × buffers   places in the arena, in bytes   (only in templates)
 *     argument blocks of the launches (layout: kernel-code.ts), each 8-byte aligned
 *
 * A run writes the first part from JavaScript, which is all that changes; `bind` in WebAssembly copies
 * it into the argument blocks.
 */
import {
  type BufferSource,
  type ExecutionPlan,
  type FusedKernel,
  type Launch,
  type TemplateSource,
  checksOf,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { type WasmKernel, argumentBlockBytes } from '../wasm-kernel.js';

/** Byte offsets in a plan block. */
export interface PlanLayout {
  readonly inputs: number;
  readonly outputs: number;
  readonly arena: number;
  readonly boundArena: number;
  readonly scalars: number;
  /** Items of each launch, and places of the buffers in the arena; of templates. */
  readonly items: number;
  readonly places: number;
  /** Argument block of each launch. */
  readonly launches: readonly number[];
  readonly bytes: number;
}

/** What plans and templates have in common, as far as their code is concerned. */
export type PlanOutline = Pick<
  ExecutionPlan,
  'name' | 'numInputs' | 'scalars' | 'launches' | 'constants'
> & {
  readonly kernels: readonly FusedKernel<Size>[];
  readonly outputs: readonly unknown[];
  readonly buffers: readonly {
    readonly dtype: DType;
    readonly source: BufferSource | TemplateSource;
  }[];
};

/** Lays out the block of a plan with this code; of a template, for any of its sizes. */
export function planLayout(
  plan: PlanOutline,
  codes: readonly (WasmKernel | null)[],
  isTemplate: boolean,
): PlanLayout {
  const outputs = 4 * plan.numInputs;
  const arena = outputs + 4 * plan.outputs.length;
  const boundArena = arena + 4;
  const scalars = (boundArena + 4 + 7) & ~7;
  const items = scalars + 8 * plan.scalars.length;
  const places = items + (isTemplate ? 4 * plan.launches.length : 0);
  let next = (places + (isTemplate ? 4 * plan.buffers.length : 0) + 7) & ~7;
  const launches = plan.launches.map((launch) => {
    const at = next;
    const checks = checksOf(plan.kernels[launch.kernel]).list.length;
    next += (argumentBlockBytes(launch.buffers.length, launch.scalars.length, checks) + 7) & ~7;
    next += (4 * (codes[launch.kernel]?.sizes.length ?? 0) + 7) & ~7;
    return at;
  });
  return { inputs: 0, outputs, arena, boundArena, scalars, items, places, launches, bytes: next };
}

/** Byte offset of the symbolic sizes in the argument block of a launch. */
export function sizesOffset(plan: PlanOutline, { kernel, buffers, scalars }: Launch): number {
  const checks = checksOf(plan.kernels[kernel]).list.length;
  return (argumentBlockBytes(buffers.length, scalars.length, checks) + 7) & ~7;
}
