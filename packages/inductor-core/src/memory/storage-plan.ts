/**
 * @file Which buffers share memory, and where it is.
 *
 * Each stored buffer starts with memory of its own. A kernel's result takes over the memory of a value
 * that dies in that kernel if both are accessed at the same place at every point (in-place reuse).
 * What is not an argument or output of the plan gets a place in the arena: best fit over live ranges.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { storageExtent } from '@tessera/tensor/internal';
import type { GroupBody } from '../kernels/group-body.js';
import type { ExternNode, IrBuffer } from '../lower/ir-node.js';
import { type Interval, packIntervals } from './arena.js';
import { reusableInputs } from './in-place.js';

/** One kernel as the memory planner sees it. */
export interface GroupUse {
  readonly body: GroupBody | ExternNode;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
}

/** Memory shared by one or more buffers. */
export interface StorageSlot {
  readonly key: string;
  readonly dtype: DType;
  readonly numel: number;
  readonly home:
    | { readonly kind: 'input' | 'output'; readonly index: number }
    | { readonly kind: 'arena'; readonly offset: number };
}

/** See the file header. */
export interface StoragePlan {
  readonly slots: readonly StorageSlot[];
  readonly arenaBytes: number;
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
    const buffer = this.buffers.get(name)!;
    const known = this.shared.get(name);
    if (known === undefined)
      this.shared.set(name, { members: [buffer], first: at, last: at, output: buffer.output });
    else known.last = at;
  }

  /** Lets results take over the memory of values that die where they are made. */
  reuse(): void {
    this.kernels.forEach((kernel, at) => {
      if (kernel.body.kind === 'extern') return;
      const dying = (name: string): boolean => {
        const buffer = this.buffers.get(name)!;
        const shared = this.shared.get(name)!;
        return (
          buffer.kind === 'computed' &&
          buffer.output < 0 &&
          shared.output < 0 &&
          shared.last === at &&
          shared.first < at
        );
      };
      const fresh = (name: string): boolean => {
        const buffer = this.buffers.get(name)!;
        return buffer.kind === 'computed' && this.shared.get(name)!.first === at;
      };
      for (const { input, output } of reusableInputs(kernel.body, this.buffers, dying, fresh))
        this.join(input, output);
    });
  }

  private join(input: string, output: string): void {
    const a = this.shared.get(input)!;
    const b = this.shared.get(output)!;
    const joined: Shared = {
      members: [...a.members, ...b.members],
      first: Math.min(a.first, b.first),
      last: Math.max(a.last, b.last),
      output: b.output,
    };
    for (const member of joined.members) this.shared.set(member.name, joined);
  }

  plan(bytesOf: (dtype: DType) => number): StoragePlan {
    const all = [...new Set(this.shared.values())];
    const local = all.filter((s) => s.output < 0 && s.members[0]!.kind === 'computed');
    const intervals = local.map((s): Interval => ({
      first: s.first,
      last: s.last,
      bytes: extent(s) * bytesOf(s.members[0]!.dtype),
    }));
    const { offsets, total } = packIntervals(intervals);
    const offsetOf = new Map(local.map((s, i) => [s, offsets[i]!]));
    const slots = all.map((s): StorageSlot => {
      const [buffer] = s.members as [IrBuffer];
      const home: StorageSlot['home'] =
        buffer.kind === 'input'
          ? { kind: 'input', index: buffer.input }
          : s.output >= 0
            ? { kind: 'output', index: s.output }
            : { kind: 'arena', offset: offsetOf.get(s)! };
      return { key: buffer.name, dtype: buffer.dtype, numel: extent(s), home };
    });
    return {
      slots,
      arenaBytes: total,
      keyOf: (buffer) => (this.shared.get(buffer.name)?.members[0] ?? buffer).name,
    };
  }
}

function extent(shared: Shared): number {
  return Math.max(...shared.members.map((buffer) => storageExtent(buffer.sizes, buffer.strides)));
}

/** Plans the memory of kernels in order. `bytesOf` is the width of an element on the device. */
export function planStorage(
  kernels: readonly GroupUse[],
  buffers: ReadonlyMap<string, IrBuffer>,
  bytesOf: (dtype: DType) => number = itemSize,
): StoragePlan {
  const planner = new Planner(kernels, buffers);
  planner.reuse();
  return planner.plan(bytesOf);
}
