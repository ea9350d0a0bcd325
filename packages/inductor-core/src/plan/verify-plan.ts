/**
 * @file `verifyPlan`: whether a plan is well formed: every kernel, every binding, the arena.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { TesseraError } from '@tessera/shared';
import { verifyKernel } from '../ir/verify.js';
import type { ExecutionPlan, Launch } from './execution-plan.js';

function fail(plan: ExecutionPlan, what: string): never {
  throw new TesseraError('plan-invalid', `Plan '${plan.name}' is malformed: ${what}.`, {
    context: { plan: plan.name },
    hints: [
      'Compile it again with this version; a plan from a file may be damaged or of another version.',
    ],
  });
}

/** First and last launch that touches each buffer; null for unused ones. */
export function bufferLifetimes(
  plan: ExecutionPlan,
): ({ readonly first: number; readonly last: number } | null)[] {
  const lives: ({ first: number; last: number } | null)[] = plan.buffers.map(() => null);
  plan.launches.forEach((launch, at) => {
    for (const index of launch.buffers) {
      const life = lives[index];
      if (life == null) lives[index] = { first: at, last: at };
      else life.last = at;
    }
  });
  return lives;
}

function checkLaunch(plan: ExecutionPlan, launch: Launch): void {
  const kernel = plan.kernels[launch.kernel];
  if (kernel === undefined) fail(plan, `there is no kernel ${launch.kernel}`);
  if (
    launch.buffers.length !== kernel.params.length ||
    launch.scalars.length !== kernel.scalars.length
  )
    fail(plan, `a launch of '${kernel.name}' binds another number of parameters`);
  kernel.params.forEach((param, i) => {
    const buffer = plan.buffers[launch.buffers[i]!];
    if (buffer === undefined)
      fail(plan, `'${kernel.name}' binds buffer ${launch.buffers[i]}, which does not exist`);
    if (buffer.dtype !== param.dtype)
      fail(
        plan,
        `'${kernel.name}' takes ${param.dtype} as '${param.name}' but '${buffer.name}' holds ${buffer.dtype}`,
      );
    if (buffer.source.kind === 'constant' && param.access !== 'read')
      fail(plan, `'${kernel.name}' writes the constant '${buffer.name}'`);
  });
  if (new Set(launch.buffers).size !== launch.buffers.length)
    fail(plan, `'${kernel.name}' binds one buffer to two parameters`);
  kernel.scalars.forEach((scalar, i) => {
    if (plan.scalars[launch.scalars[i]!]?.dtype !== scalar.dtype)
      fail(plan, `'${kernel.name}' binds scalar '${scalar.name}' wrongly`);
  });
}

function checkSources(plan: ExecutionPlan, bytesOf: (dtype: DType) => number): void {
  const lives = bufferLifetimes(plan);
  const arena = plan.buffers.flatMap((buffer, i) => {
    const { source } = buffer;
    if (source.kind === 'input' && source.index >= plan.numInputs)
      fail(plan, `'${buffer.name}' is input ${source.index} of ${plan.numInputs}`);
    if (source.kind === 'output' && source.index >= plan.outputs.length)
      fail(plan, `'${buffer.name}' is output ${source.index} of ${plan.outputs.length}`);
    if (source.kind === 'constant' && source.index >= plan.constants.length)
      fail(plan, `'${buffer.name}' is constant ${source.index} of ${plan.constants.length}`);
    const life = lives[i];
    if (source.kind !== 'arena' || life == null) return [];
    const end = source.offset + buffer.numel * bytesOf(buffer.dtype);
    if (source.offset % 64 !== 0 || end > plan.arenaBytes)
      fail(
        plan,
        `'${buffer.name}' lies at bytes ${source.offset}…${end} of an arena of ${plan.arenaBytes}`,
      );
    return [{ name: buffer.name, start: source.offset, end, ...life }];
  });
  arena.sort((a, b) => a.start - b.start);
  for (let i = 0; i < arena.length; i++) {
    for (let j = i + 1; j < arena.length && arena[j]!.start < arena[i]!.end; j++) {
      const [a, b] = [arena[i]!, arena[j]!];
      if (a.first <= b.last && b.first <= a.last)
        fail(plan, `'${a.name}' and '${b.name}' share memory while both live`);
    }
  }
}

/** Checks a whole plan. @throws plan-invalid naming what is wrong */
export function verifyPlan(
  plan: ExecutionPlan,
  bytesOf: (dtype: DType) => number = itemSize,
): void {
  if (plan.version !== 1)
    fail(plan, `it has version ${String(plan.version)}, this runtime reads version 1`);
  for (const kernel of plan.kernels) verifyKernel(kernel);
  for (const launch of plan.launches) checkLaunch(plan, launch);
  checkSources(plan, bytesOf);
}
