/**
 * @file `verifyPlan`: whether a plan is well formed: every kernel, every binding, the arena.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { findAnyOp, storageExtent } from '@tessera/tensor/internal';
import { TesseraError } from '@tessera/shared';
import type { ExternArg, ExternKernel } from '../ir/kernel.js';
import { verifyKernel } from '../ir/verify.js';
import { verifyAccesses } from '../proof/verify-accesses.js';
import { arenaOverlap } from './arena-overlap.js';
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
  plan: Pick<ExecutionPlan, 'launches'> & { readonly buffers: readonly unknown[] },
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

/** Elements of each buffer of a kernel. */
type NumelOf = (buffer: string) => number;

/** Whether a strided view lies in a buffer of `numel` elements. */
function isInside(
  { sizes, strides, offset }: Extract<ExternArg, { kind: 'buffer' }>,
  numel: number,
): boolean {
  if (sizes.length !== strides.length || [...sizes, ...strides, offset].some((n) => !(n >= 0)))
    return false;
  return offset + storageExtent(sizes, strides) <= numel;
}

/** What `verifyKernel` cannot know of a call of an operator: the operator, and the sizes of the buffers. */
function checkExtern(plan: ExecutionPlan, kernel: ExternKernel, numelOf: NumelOf): void {
  const op = findAnyOp(kernel.op);
  if (op === undefined) fail(plan, `there is no operator '${kernel.op}'`);
  if (op.isMutable || op.isView) fail(plan, `${kernel.op} does not only compute new tensors`);
  if (op.schema.args.length !== kernel.args.length)
    fail(plan, `${kernel.op} takes ${op.schema.args.length} arguments, not ${kernel.args.length}`);
  const stack: ExternArg[] = [...kernel.args, ...kernel.outputs];
  while (stack.length > 0) {
    const arg = stack.pop()!;
    if (arg.kind === 'list') stack.push(...arg.items);
    if (arg.kind === 'buffer' && !isInside(arg, numelOf(arg.name)))
      fail(plan, `'${kernel.name}' reaches beyond the buffer '${arg.name}'`);
  }
  for (const { name } of kernel.outputs)
    if (kernel.params.find((param) => param.name === name)?.access === 'read')
      fail(plan, `'${kernel.name}' writes '${name}', which it only reads`);
}

/** Whether buffers fit what the caller gives and what the plan holds. */
function checkArguments(plan: ExecutionPlan): void {
  const taken = new Set<string>();
  for (const { name, dtype, numel, source } of plan.buffers) {
    if (source.kind === 'arena') continue;
    const key = `${source.kind} ${source.index}`;
    if (taken.has(key)) fail(plan, `two buffers are ${key}`);
    taken.add(key);
    const output = source.kind === 'output' ? plan.outputs[source.index] : undefined;
    if (output !== undefined) {
      if (output.dtype !== dtype) fail(plan, `'${name}' holds ${dtype}, ${key} ${output.dtype}`);
      if (numel > storageExtent(output.sizes, output.strides))
        fail(plan, `'${name}' has ${numel} elements, more than ${key}`);
    }
    const constant = source.kind === 'constant' ? plan.constants[source.index] : undefined;
    if (constant !== undefined && (constant.dtype !== dtype || constant.values.length !== numel))
      fail(plan, `'${name}' is not like ${key}`);
  }
  const { rng, scalars } = plan;
  if (rng !== undefined && (scalars[rng.seed] === undefined || scalars[rng.offset] === undefined))
    fail(plan, 'the state of the random generator goes to a scalar that does not exist');
  const names = new Set(plan.kernels.map((kernel) => kernel.name));
  if (names.size < plan.kernels.length) fail(plan, 'two kernels have one name');
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
  const clash = arenaOverlap(arena);
  if (clash !== null)
    fail(plan, `'${clash[0].name}' and '${clash[1].name}' share memory while both live`);
}

/** Proves that kernels stay inside the smallest buffers that their launches bind. */
function checkAccesses(plan: ExecutionPlan): void {
  const smallest = plan.kernels.map(() => new Map<string, number>());
  for (const launch of plan.launches)
    plan.kernels[launch.kernel]!.params.forEach(({ name }, i) => {
      const sizes = smallest[launch.kernel]!;
      const { numel } = plan.buffers[launch.buffers[i]!]!;
      sizes.set(name, Math.min(sizes.get(name) ?? Infinity, numel));
    });
  plan.kernels.forEach((kernel, i) => {
    const sizes = smallest[i]!;
    // A kernel that is never launched touches nothing.
    if (sizes.size < kernel.params.length) return;
    const numelOf: NumelOf = (name) => sizes.get(name)!;
    if (kernel.kind === 'extern') checkExtern(plan, kernel, numelOf);
    else
      verifyAccesses(kernel, numelOf, (what) => fail(plan, `in kernel '${kernel.name}' ${what}`));
  });
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
  checkArguments(plan);
  checkAccesses(plan);
}
