/**
 * @file Extern calls: operators that run as reference kernels between two segments of a plan.
 *
 * How such a kernel is called is the business of the layers above; they register a runner.
 */
import { TesseraError } from '@tessera/shared';
import type { ExecutionPlan, ExternKernel, Launch } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';

/** A buffer of an extern call, as it lies in the CPU heap. */
export interface ExternBuffer {
  readonly dtype: DType;
  /** Byte address of element 0. */
  readonly ptr: number;
  /** Elements reachable from element 0. */
  readonly numel: number;
}

/** Runs the operator of an extern kernel; buffers and scalars go by the names that the kernel's arguments use. */
export type CpuExternRunner = (
  kernel: ExternKernel,
  buffers: ReadonlyMap<string, ExternBuffer>,
  scalars: ReadonlyMap<string, number>,
) => void;

let runner: CpuExternRunner | null = null;

/** Registers how extern kernels run on `cpu`. */
export function setCpuExternRunner(fn: CpuExternRunner): void {
  runner = fn;
}

/** Runs one extern launch; `addressOf` gives the address of a plan buffer in this run. @throws kernel-missing */
export function runExtern(plan: ExecutionPlan, launch: Launch, addressOf: (buffer: number) => number, scalars: readonly number[]): void {
  const kernel = plan.kernels[launch.kernel] as ExternKernel;
  if (runner === null) {
    throw new TesseraError('kernel-missing', `cpu: ${kernel.op} has no generated kernel, and nothing runs its reference kernel.`, {
      hints: ['Import @tessera/compile, or register a runner with setCpuExternRunner.'],
    });
  }
  const buffers = new Map<string, ExternBuffer>();
  kernel.params.forEach(({ name }, position) => {
    const buffer = launch.buffers[position];
    const { dtype, numel } = plan.buffers[buffer];
    buffers.set(name, { dtype, ptr: addressOf(buffer), numel });
  });
  const values = new Map(kernel.scalars.map(({ name }, position) => [name, scalars[launch.scalars[position]]]));
  runner(kernel, buffers, values);
}
