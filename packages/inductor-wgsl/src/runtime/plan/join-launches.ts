/**
 * @file Launches of small kernels, or of recurrences, that do not wait for each other, joined: a rewrite of the plan before code is generated.
 *
 * Neighbours are joined if none writes what another accesses, if their workgroups are alike, and if each takes so little
 * time that its launch counts. Outputs of a few bytes lie in slots of larger buffers, which other parameters of a launch
 * should not meet: their kernels stay alone. What is computed, and how, stays as it is, but for the number of threads of a sum: the
 * kernels share the device.
 */
import {
  type BufferParam,
  checksOfAll,
  extent,
  type FusedKernel,
  isStaticKernel,
  keepsWeights,
  type Launch,
  recurrenceChain,
  type RecurrenceKernel,
} from '@tessera/inductor-core';
import { type Size, sizeHint } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import {
  type BoundKernel,
  type JoinedPart,
  joinKernels,
  type LaunchedKernel,
} from '../../codegen/scheduled/joined-kernel.js';
import { stepShape } from '../../codegen/recurrence/chain-shape.js';
import { scheduleTogether } from '../../codegen/scheduled/loop.js';
import { recurrenceThreads } from '../../codegen/recurrence/recurrence.js';
import type { WgslTarget } from '../../codegen/target.js';
import { deviceItemSize } from '../../codegen/values/wgsl-types.js';
import { SLOT_BYTES } from '../memory/slab.js';

/** What of a plan, or of a template, is rewritten. */
export interface Launches {
  readonly kernels: readonly FusedKernel<Size>[];
  readonly launches: readonly Launch[];
  readonly buffers: readonly {
    readonly dtype: DType;
    readonly numel: Size;
    readonly source: { readonly kind: string };
  }[];
}

/** See the file header. */
interface JoinedLaunches {
  readonly kernels: readonly LaunchedKernel[];
  readonly launches: readonly Launch[];
}

/** Bytes that a kernel may access, all of its buffers together. */
const MOST_BYTES = 32 * 2 ** 20;

class Joiner {
  private readonly kernels: LaunchedKernel[] = [];
  /** Places of kernels, joined ones by what they are made of. */
  private readonly known = new Map<string, number>();
  private readonly fitting = new Map<string, boolean>();

  constructor(
    private readonly plan: Launches,
    private readonly target: WgslTarget,
  ) {}

  run(): JoinedLaunches {
    const launches: Launch[] = [];
    let open: BoundKernel[] = [];
    const close = (): void => {
      if (open.length > 0) launches.push(this.joined(open));
      open = [];
    };
    for (const launch of this.plan.launches) {
      const kernel = this.plan.kernels[launch.kernel];
      if (!this.isSmall(kernel, launch)) {
        close();
        launches.push(this.placed(String(launch.kernel), kernel, launch));
        continue;
      }
      const next = { kernel, launch };
      if (open.length > 0 && !this.fits(open, next)) close();
      open.push(next);
    }
    close();
    return { kernels: this.kernels, launches };
  }

  private isSmall(kernel: FusedKernel<Size>, { buffers }: Launch): kernel is JoinedPart {
    if (kernel.kind !== 'loop' && kernel.kind !== 'recurrence') return false;
    if (!isStaticKernel(kernel)) return false;
    let total = 0;
    for (const index of buffers) {
      // Whoever plans memory says what is wrong with a malformed plan.
      if (!(index in this.plan.buffers)) return false;
      const { numel, dtype, source } = this.plan.buffers[index];
      const bytes = sizeHint(numel) * deviceItemSize(dtype, this.target.f16);
      if (source.kind === 'output' && bytes <= SLOT_BYTES) return false;
      total += bytes;
    }
    // A wide recurrence is a launch for each step.
    return total <= MOST_BYTES || (kernel.kind === 'recurrence' && !keepsWeights(kernel));
  }

  private fits(open: readonly BoundKernel[], next: BoundKernel): boolean {
    const access = new Map<number, BufferParam['access']>();
    const scalars = new Map<string, number>();
    for (const { kernel, launch } of [...open, next]) {
      for (const [i, param] of kernel.params.entries()) {
        const index = launch.buffers[i];
        if ((access.get(index) ?? param.access) !== 'read' || param.access !== 'read')
          if (access.has(index)) return false;
        access.set(index, param.access);
      }
      for (const [i, { name }] of kernel.scalars.entries()) {
        const index = launch.scalars[i];
        if ((scalars.get(name) ?? index) !== index) return false;
        scalars.set(name, index);
      }
    }
    const checks = checksOfAll([...open, next].map(({ kernel }) => kernel)).list.length;
    const bindings = bindingsOf([...open, next]) + Math.min(1, checks);
    return bindings <= this.target.maxStorageBuffers && this.areAlike([...open, next]);
  }

  /** Whether workgroups of all kernels have as many threads, and are few enough for one row. */
  private areAlike(bound: readonly BoundKernel[]): boolean {
    const key = bound.map(({ launch }) => launch.kernel).join();
    let found = this.fitting.get(key);
    if (found === undefined) {
      const { target } = this;
      const kernels = bound.map(({ kernel }) => kernel);
      const loops = kernels.filter((kernel) => kernel.kind === 'loop');
      const recurrences = kernels.filter((kernel) => kernel.kind === 'recurrence');
      const shapes = [
        ...scheduleTogether(loops, target).map(({ grid, threads }) => [
          grid.extent,
          threads!.extent,
        ]),
        ...recurrences.map((each) => recurrenceShape(each, target, recurrences.length)),
      ];
      const groups = shapes.reduce((sum, [count]) => sum + (count as number), 0);
      found =
        (loops.length === 0 || recurrences.length === 0) &&
        new Set(recurrences.map(stepsOfChain)).size <= 1 &&
        new Set(shapes.map(([, threads]) => threads)).size === 1 &&
        groups <= target.maxWorkgroupsPerDimension;
      this.fitting.set(key, found);
    }
    return found;
  }

  private joined(bound: readonly BoundKernel[]): Launch {
    const numbers = bound.map(({ launch }) => launch.kernel);
    if (bound.length === 1) return this.placed(numbers.join(), bound[0].kernel, bound[0].launch);
    const { kernel, launch } = joinKernels(bound);
    const names = kernel.parts.map(({ params }) => params.map(({ name }) => name).join());
    return this.placed([numbers.join(), ...names].join(';'), kernel, launch);
  }

  private placed(key: string, kernel: LaunchedKernel, launch: Omit<Launch, 'kernel'>): Launch {
    let index = this.known.get(key);
    if (index === undefined) this.known.set(key, (index = this.kernels.push(kernel) - 1));
    return { ...launch, kernel: index };
  }
}

/** A plan with its small launches joined. */
export function joinLaunches(plan: Launches, target: WgslTarget): JoinedLaunches {
  // Threads of a software adapter take turns, and a launch costs it little.
  return target.software ? plan : new Joiner(plan, target).run();
}

/** Buffers that kernels bind in one launch; steps of a chain have their memory, and leave its ends what only those use. */
function bindingsOf(bound: readonly BoundKernel[]): number {
  const places = bound.flatMap(({ kernel, launch }, i) => {
    const place = (name: string): number | string =>
      launch.buffers[kernel.params.findIndex((param) => param.name === name)] ?? `${i} ${name}`;
    const isChain = kernel.kind === 'recurrence' && !keepsWeights(kernel);
    const { params } = isChain ? recurrenceChain([kernel])!.step : kernel;
    return params.map(({ name }) => place(name));
  });
  return new Set(places).size;
}

/** Workgroups of a launch, and their threads, where so many recurrences share it. */
function recurrenceShape(
  kernel: RecurrenceKernel<Size>,
  target: WgslTarget,
  sharing: number,
): readonly [Size, number] {
  if (keepsWeights(kernel)) return [extent(kernel.batch), recurrenceThreads(kernel, target)];
  const { groups, threads } = stepShape(kernel, target, sharing);
  return [groups, threads];
}

/** How many launches a recurrence is; 0 where it is one. */
function stepsOfChain(kernel: RecurrenceKernel<Size>): Size {
  return keepsWeights(kernel) ? 0 : extent(kernel.step);
}
