/**
 * @file `MemoryClashes`: a kernel that overwrites a part of a memory is the only one of its nodes that accesses it.
 *
 * Buffers before and after such a write are different names for one memory. Other nodes access it at other places, or
 * need what was there before; inside of a kernel nothing orders them.
 */
import { memoryOf } from '../lower/ir-node.js';
import type { FusionContext } from './fusion-context.js';
import type { Group } from './group.js';

interface Touched {
  readonly overwritten: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
}

/** See the file header. */
export class MemoryClashes {
  /** Memories of which parts are overwritten in the graph. */
  private readonly shared = new Set<string>();
  private readonly touched = new WeakMap<Group, Touched>();

  constructor(private readonly context: FusionContext) {
    for (const buffer of context.buffers.values())
      if (buffer.before !== null) this.shared.add(memoryOf(buffer).name);
  }

  /** Whether one group overwrites a part of a memory that the other accesses. */
  clash(a: Group, b: Group): boolean {
    if (this.shared.size === 0) return false;
    const [first, second] = [this.touchedBy(a), this.touchedBy(b)];
    return meets(first.overwritten, second.all) || meets(second.overwritten, first.all);
  }

  private touchedBy(group: Group): Touched {
    let found = this.touched.get(group);
    if (found === undefined) this.touched.set(group, (found = this.collect(group)));
    return found;
  }

  private collect({ nodes }: Group): Touched {
    const { context, shared } = this;
    const [overwritten, all] = [new Set<string>(), new Set<string>()];
    const nameOf = (buf: string): string => memoryOf(context.buffers.get(buf)!).name;
    for (const node of nodes) {
      const { reads, writes } = context.of(node);
      for (const { buf } of reads) if (shared.has(nameOf(buf))) all.add(nameOf(buf));
      for (const { buf } of writes) {
        if (!shared.has(nameOf(buf))) continue;
        all.add(nameOf(buf));
        if (context.buffers.get(buf)!.before !== null) overwritten.add(nameOf(buf));
      }
    }
    return { overwritten, all };
  }
}

function meets(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const name of a) if (b.has(name)) return true;
  return false;
}
