/**
 * @file Which buffers share memory, and where it is.
 *
 * Each stored buffer starts with memory of its own. A kernel's result takes over the memory of a value
 * that dies in that kernel if both are accessed at the same place at every point (in-place reuse).
 * What is not an argument or output of the plan gets a place in the arena when its size is known (plan-template.ts).
 */
import type { Size, Steps } from '@tessera/shared';
import type { GroupBody } from '../kernels/group-body.js';
import { type ExternNode, type IrBuffer, memoryOf } from '../lower/ir-node.js';
import { extentOf, largerOf } from '../lower/shape-math.js';
import type { TemplateBuffer } from '../plan/plan-template.js';
import { reusableInputs } from './in-place.js';

/** One kernel as the memory planner sees it. */
export interface GroupUse {
  readonly body: GroupBody | ExternNode;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
}

/** See the file header. */
export interface StoragePlan {
  /** Memory shared by one or more buffers, by name. */
  readonly slots: readonly TemplateBuffer[];
  /** The name of the memory that a buffer has. */
  keyOf(buffer: IrBuffer): string;
}

interface Shared {
  readonly members: IrBuffer[];
  first: number;
  last: number;
  output: number;
}

class Planner {
  private readonly shared = new Map<string, Shared>();

  constructor(
    private readonly kernels: readonly GroupUse[],
    private readonly buffers: ReadonlyMap<string, IrBuffer>,
  ) {
    kernels.forEach((kernel, at) => {
      for (const name of kernel.writes) this.touch(name, at);
      for (const name of kernel.reads) this.touch(name, at);
    });
  }

  private touch(name: string, at: number): void {
    const named = this.buffers.get(name)!;
    const buffer = memoryOf(named);
    let known = this.shared.get(buffer.name);
    if (known === undefined)
      this.shared.set(
        buffer.name,
        (known = { members: [buffer], first: at, last: at, output: buffer.output }),
      );
    known.last = at;
    // The memory may be an output as it is after a write alone.
    known.output = Math.max(known.output, named.output);
  }

  /** Lets results take over the memory of values that die where they are made. */
  *reuse(): Steps<void> {
    for (const [at, kernel] of this.kernels.entries()) {
      yield;
      // Nothing was made before the first one.
      if (at === 0 || kernel.body.kind === 'extern') continue;
      const dying = (name: string): boolean => {
        const buffer = this.buffers.get(name)!;
        const { output, last, first } = this.sharedBy(name);
        return buffer.kind === 'computed' && output < 0 && last === at && first < at;
      };
      const fresh = (name: string): boolean => {
        const buffer = this.buffers.get(name)!;
        return buffer.kind === 'computed' && this.sharedBy(name).first === at;
      };
      for (const { input, output } of reusableInputs(kernel.body, this.buffers, dying, fresh))
        this.join(input, output);
    }
  }

  private sharedBy(name: string): Shared {
    return this.shared.get(memoryOf(this.buffers.get(name)!).name)!;
  }

  private join(input: string, output: string): void {
    const a = this.sharedBy(input);
    const b = this.sharedBy(output);
    const joined: Shared = {
      members: [...a.members, ...b.members],
      first: Math.min(a.first, b.first),
      last: Math.max(a.last, b.last),
      output: b.output,
    };
    for (const member of joined.members) this.shared.set(member.name, joined);
  }

  plan(): StoragePlan {
    const slots = [...new Set(this.shared.values())].map((s): TemplateBuffer => {
      const [buffer] = s.members;
      const source: TemplateBuffer['source'] =
        buffer.kind === 'input'
          ? { kind: 'input', index: buffer.input }
          : s.output >= 0
            ? { kind: 'output', index: s.output }
            : { kind: 'scratch', first: s.first, last: s.last };
      return { name: buffer.name, dtype: buffer.dtype, numel: extent(s), source };
    });
    return {
      slots,
      keyOf: (buffer) => {
        const memory = memoryOf(buffer);
        return (this.shared.get(memory.name)?.members[0] ?? memory).name;
      },
    };
  }
}

/** What holds every member: only those of equal extents are joined, but for parts of a layout with gaps. */
function extent({ members }: Shared): Size {
  return members.map(({ sizes, strides }) => extentOf(sizes, strides)).reduce(largerOf);
}

/** Plans the memory of kernels in order, with a pause after each. */
export function* storageSteps(
  kernels: readonly GroupUse[],
  buffers: ReadonlyMap<string, IrBuffer>,
): Steps<StoragePlan> {
  const planner = new Planner(kernels, buffers);
  yield* planner.reuse();
  yield;
  return planner.plan();
}
