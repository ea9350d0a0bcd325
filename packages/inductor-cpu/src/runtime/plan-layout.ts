/**
 * @file The plan block: one piece of memory per loaded plan that tells its kernels where everything is.
 *
 *     i32 × inputs    addresses of the arguments, written by every run
 *     i32 × outputs   addresses of the outputs, written by every run
 *     i32             address of the arena, written by every run
 *     i32             arena address that the argument blocks below hold
 *     f64 × scalars   written by every run
 *     argument blocks of the launches (layout: kernel-code.ts), each 8-byte aligned
 *
 * A run writes the first part from JavaScript, which is all that changes; `bind` in WebAssembly copies
 * it into the argument blocks.
 */
import { checksOf, type ExecutionPlan } from '@tessera/inductor-core';
import { argumentBlockBytes } from '../wasm-kernel.js';

/** Byte offsets in a plan block. */
export interface PlanLayout {
  readonly inputs: number;
  readonly outputs: number;
  readonly arena: number;
  readonly boundArena: number;
  readonly scalars: number;
  /** Argument block of each launch. */
  readonly launches: readonly number[];
  readonly bytes: number;
}

/** Lays out the block of a plan. */
export function planLayout(plan: ExecutionPlan): PlanLayout {
  const outputs = 4 * plan.numInputs;
  const arena = outputs + 4 * plan.outputs.length;
  const boundArena = arena + 4;
  const scalars = (boundArena + 4 + 7) & ~7;
  let next = scalars + 8 * plan.scalars.length;
  const launches = plan.launches.map((launch) => {
    const at = next;
    const checks = checksOf(plan.kernels[launch.kernel]).list.length;
    next += (argumentBlockBytes(launch.buffers.length, launch.scalars.length, checks) + 7) & ~7;
    return at;
  });
  return { inputs: 0, outputs, arena, boundArena, scalars, launches, bytes: next };
}
