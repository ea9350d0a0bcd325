/**
 * @file A kernel backend of `cpu` from what is particular to it: a target description, an emitter, functions from text.
 *
 * For backends whose kernels work on arrays of the host. Kernels are scheduled here, for a machine that does one thing
 * after another; memory, launches and every kernel that the backend has no text for (they run in the reference
 * interpreter) are dealt with here too, so a backend may begin with one kind of kernel and be right for all.
 */
import { DTYPES, type DType, isDType } from '@tessera/tensor';
import { type BufferData, interpretKernel } from '../ir/interpret.js';
import type { FusedKernel } from '../ir/kernel.js';
import { printKernel } from '../ir/print.js';
import { bindPlan, hostData } from '../plan/bind-plan.js';
import { scheduleScalar } from '../schedule/scalar/schedule-scalar.js';
import type { ScalarKernel, ScalarTarget } from '../schedule/scalar/scalar-kernel.js';
import { checkedExecutable } from '../plan/checked-executable.js';
import { boundTo } from '../plan/bound-to.js';
import type { ExecutionPlan } from '../plan/execution-plan.js';
import type { Capabilities, Executable, KernelBackend, KernelSource } from './kernel-backend.js';

/** A kernel that runs: takes its buffers, then its scalars, in the order of the kernel's parameters. */
export type HostKernel = (...args: (BufferData | number)[]) => void;

/** How kernels become code that runs. */
export interface HostCode {
  /** Of the texts. */
  readonly language: string;
  /** What kernels are scheduled for. */
  readonly target: ScalarTarget;
  /** Text of a kernel, or null to leave it to the reference interpreter. Pure. */
  readonly emit: (kernel: ScalarKernel) => string | null;
  /** Makes a text run; `parameters` are the names of the kernel's buffers and scalars. */
  readonly instantiate: (text: string, parameters: readonly string[]) => HostKernel;
}

/** What a backend brings along. */
export interface HostBackendParts {
  readonly name: string;
  /** Absent where the reference interpreter runs all kernels. */
  readonly code?: HostCode;
  /** Where it differs from one thread on arrays of JavaScript. */
  readonly capabilities?: Partial<Capabilities>;
}

/** Types that JavaScript has arrays of. */
const HOST_DTYPES: ReadonlySet<DType> = new Set(
  Object.keys(DTYPES)
    .filter(isDType)
    .filter((dtype) => dtype !== 'float16' && dtype !== 'bfloat16'),
);

/** Language of kernels that the interpreter runs. */
const INTERPRETED = 'loop-ir';

/**
 * See the file header.
 *
 * @example registerKernelBackend(hostBackend({ name: 'mine', code: { language: 'c', target, emit, instantiate } }));
 */
export function hostBackend({ name, code, capabilities }: HostBackendParts): KernelBackend {
  const generate = (kernel: FusedKernel): KernelSource => sourceOf(kernel, code);
  return {
    name,
    device: 'cpu',
    capabilities: {
      dtypes: HOST_DTYPES,
      int64: 'native',
      maxBuffersPerKernel: 256,
      extern: false,
      parallelism: 1,
      splitReductionThreshold: Infinity,
      ...capabilities,
    },
    generate,
    load(plan) {
      const sources = plan.kernels.map(generate);
      const kernels = plan.kernels.map((kernel, i) => runnable(kernel, sources[i]!, code));
      return checkedExecutable({
        plan,
        sources,
        run: (...args) => run(plan, kernels, ...args),
        dispose() {},
      });
    },
  };
}

function sourceOf(kernel: FusedKernel, code: HostCode | undefined): KernelSource {
  if (code !== undefined && kernel.kind !== 'extern') {
    const schedule = (): ScalarKernel => scheduleScalar(kernel, code.target);
    const text = code.emit(schedule());
    if (text !== null) return { kernel: kernel.name, language: code.language, text, schedule };
  }
  return { kernel: kernel.name, language: INTERPRETED, text: printKernel(kernel) };
}

function runnable(
  kernel: FusedKernel,
  source: KernelSource,
  code: HostCode | undefined,
): HostKernel {
  const names = [...kernel.params, ...kernel.scalars].map(({ name }) => name);
  if (code !== undefined && source.language !== INTERPRETED)
    return code.instantiate(source.text, names);
  return (...args) => {
    const buffers = new Map<string, BufferData>();
    const numbers = new Map<string, number>();
    names.forEach((name, i) => {
      const arg = args[i]!;
      if (typeof arg === 'number') numbers.set(name, arg);
      else buffers.set(name, arg);
    });
    interpretKernel(kernel, buffers, numbers);
  };
}

function run(
  plan: ExecutionPlan,
  kernels: readonly HostKernel[],
  ...[inputs, outputs, scalars]: Parameters<Executable['run']>
): void {
  for (const [i, input] of inputs.entries()) boundTo(plan, 'input', i, input);
  for (const [i, output] of outputs.entries()) boundTo(plan, 'output', i, output);
  const memory = bindPlan(plan, inputs.map(hostData), outputs.map(hostData));
  for (const launch of plan.launches)
    kernels[launch.kernel]!(
      ...launch.buffers.map((i) => memory[i]!),
      ...launch.scalars.map((i) => scalars[i]!),
    );
}
