/**
 * @file `KernelBackend`: the contract that a code generator and its runtime fulfil.
 *
 * A third party implements this one interface. `generate` is pure, so generated code can be tested as
 * text; `load` prepares a whole plan once; `run` is the hot path.
 */
import type { DType, DeviceMemory, DeviceType, OpOverload, Tensor } from '@tessera/tensor';
import type { Steps } from '@tessera/shared';
import type { FusedKernel } from '../ir/kernel.js';
import type { LoweredGraph } from '../lower/ir-node.js';
import type { LoweringResult } from '../lower/lower-graph.js';
import type { AttentionKernels } from '../lower/ops/attention-kernel.js';
import type { FactoredRows } from '../lower/ops/factored-row.js';
import type { ExecutionPlan } from '../plan/execution-plan.js';
import type { PlanTemplate } from '../plan/plan-template.js';
import type { KernelSchedule } from './kernel-schedule.js';

/** What a backend can do, as far as lowering and scheduling must know. */
export interface Capabilities {
  /** Element types that buffers may have. */
  readonly dtypes: ReadonlySet<DType>;
  /** How int64 is stored and computed. */
  readonly int64: 'native' | 'i32';
  /** Most buffer parameters one kernel may have; one less in a kernel with checks, which has to report them. */
  readonly maxBuffersPerKernel: number;
  /** Whether `ExternKernel`s (reference kernels) can run. */
  readonly extern: boolean;
  /** Whether a graph that does not compile runs otherwise: lowerings that would be slow then decline. Default `extern`. */
  readonly fallback?: boolean;
  /** Parallel workers (threads or workgroups) worth feeding; a reduction with fewer outer points than this is split in two. */
  readonly parallelism: number;
  /** Smallest number of reduced elements per outer point for which splitting a reduction pays. */
  readonly splitReductionThreshold: number;
  /** Whether running reductions (scans) can be generated; where not, they are made of reductions of short blocks. */
  readonly scans?: boolean;
  /**
   * Whether points that store to one place can combine what they store (`Combine`); where not, results look for their sources.
   * Sums are made in float32 and int32: for devices that have no wider numbers.
   */
  readonly combines?: boolean;
  /** What lowers attention to attention kernels (`new AttentionKernels({ widest: 128 })`); where absent, scores lie in memory. */
  readonly attention?: AttentionKernels;
  /**
   * Where recurrence kernels have their weights: in `registers` if they are few enough (`fitsWorkgroup`), or in `memory`,
   * from which vectors along units are read at every step. Absent where none can be generated: an operator call per layer runs.
   */
  readonly recurrences?: 'registers' | 'memory';
  /**
   * Whether products of one row whose columns are pixels under windows (depthwise convolutions) are as fast as others.
   * Where absent, their terms are written out in the loops of their neighbours.
   */
  readonly windows?: boolean;
  /**
   * `FACTORED_ROWS` where launches are so dear that products of one row sum up again, for every column, what a factor of
   * the row is made of (a norm), rather than read what another kernel made.
   */
  readonly factoredRows?: FactoredRows | undefined;
  /** Rewrites a lowered graph before it is cut into kernels (`turnedRows`); it stays as it is where absent. */
  readonly rewriteLowered?: (lowered: LoweringResult) => LoweredGraph;
  /** Most rows, of a multiple of so many values, that products with packed weights sum like a single one; one where absent. */
  readonly packedRows?: { readonly rows: number; readonly step: number };
  /**
   * Whether a kernel more costs about as much as a call. Then parts of several lengths that are joined are written by
   * a kernel for each length; where absent, one kernel chooses among them at every element.
   */
  readonly cheapKernels?: boolean;
  /** Bytes per element in device memory where they differ from the host's (`itemSize`); for the arena. */
  readonly itemSize?: (dtype: DType) => number;
}

/** Generated code of one kernel: text to read, bytes to run. */
export interface KernelSource {
  readonly kernel: string;
  readonly language: 'wgsl' | 'wasm' | string;
  /**
   * Readable form: WGSL, or WebAssembly text of the kernel (in pages after `useWebAssemblyText()`). Deterministic: golden
   * files hold it.
   */
  readonly text: string;
  /** How the kernel runs on the device, for tools, made when it is called; absent where nothing was chosen. */
  readonly schedule?: () => KernelSchedule;
}

/** A loaded plan. */
export interface Executable {
  readonly plan: ExecutionPlan;
  /** Generated sources in kernel order, for logs, tests and the explorer. */
  readonly sources: readonly KernelSource[];
  /**
   * Where a backend cut launches in parts: for each launch of `plan`, the number of the launch that it was made of.
   * Absent where `plan` has the launches that were loaded.
   */
  readonly launchOrigins?: readonly number[] | undefined;
  /**
   * Runs the plan. The caller guarantees dtypes, layouts and device (guards); nothing is allocated
   * but scratch. On an asynchronous device it enqueues the work and returns.
   *
   * @param inputs one tensor per plan input
   * @param outputs one freshly allocated tensor per plan output, to be filled
   * @param scalars values of the plan's scalars
   * @throws what a check of a kernel refuses (`valueError`); an asynchronous device keeps the first such error for
   *   the next read of its memory. Nothing outside of the plan's buffers is read or written.
   */
  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void;
  /**
   * Memory for the outputs of one run with these inputs, one per plan output, which the caller then owns.
   * For devices on which running is cheaper with memory that was used before; absent where it makes no
   * difference, and callers may always allocate by themselves.
   *
   * @throws out-of-memory
   */
  allocateOutputs?(inputs: readonly Tensor[]): readonly DeviceMemory[];
  /** Frees scratch memory and compiled code. */
  dispose(): void;
}

/** A loaded template: the same code for every choice of sizes. */
export interface TemplateExecutable {
  readonly template: PlanTemplate;
  /**
   * The executable for some sizes; callers keep it while sizes come again, and disposing it is the template's business.
   *
   * @param computed what the template's program computes, which begins with the values of the symbols; the list stays
   * as it is
   */
  at(computed: readonly number[]): Executable;
  /** Frees compiled code and memory, of all sizes. */
  dispose(): void;
}

/** See the file header. */
export interface KernelBackend {
  readonly name: string;
  readonly device: DeviceType;
  readonly capabilities: Capabilities;
  /** Code for one kernel. Pure. @throws kernel-missing when an operation has no form on this device */
  generate(kernel: FusedKernel): KernelSource;
  /** Prepares a plan to run. */
  load(plan: ExecutionPlan): Executable;
  /** `load` with pauses, for pages that must not wait; one that waits for the host's compilers, say. */
  loadingSteps?(plan: ExecutionPlan): Steps<Executable>;
  /**
   * Prepares plans of all sizes at once. Absent in a backend whose kernels have numbers for sizes: it gets a plan for
   * every size.
   */
  loadTemplate?(template: PlanTemplate): TemplateExecutable;
  /** Runs a call of an operator that has code of its own there, into `outs`; false if it has none. Eager calls ask first. */
  runOperator?(op: OpOverload, args: readonly unknown[], outs: readonly Tensor[]): boolean;
  /** Whether plans leave an operator to `runOperator`, which then runs between two of them. */
  runsAlone?(op: OpOverload): boolean;
  /** The results of a call whose sizes depend on values, by code that the operator has of its own; null if it has none. */
  produce?(op: OpOverload, args: readonly unknown[]): Tensor | Tensor[] | null;
  /**
   * Measures the ways to run a plan that were not measured yet; resolves to whether `load` gives other code
   * from then on. Absent where there is nothing to choose by measuring.
   */
  tune?(plan: ExecutionPlan): Promise<boolean>;
}
