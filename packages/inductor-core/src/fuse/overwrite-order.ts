/**
 * @file Whether the mutations inside a kernel can be ordered.
 *
 * Values that pass between members of a kernel are computed again where they are stored, so a store
 * reads, at its own place in the kernel, whatever its producers in the kernel read. Two stores that
 * each overwrite what the other reads cannot be in one kernel.
 */
import type { FusionContext } from './fusion-context.js';
import type { Member } from './group.js';

/** Whether no circle of "reads what the other overwrites" exists among the members. */
export function canOrderOverwrites(context: FusionContext, members: readonly Member[]): boolean {
  const mutations = members.filter(({ node }) => node.kind === 'pointwise' && node.mutation);
  if (mutations.length < 2) return true;
  const overwritten = new Set(
    mutations.flatMap(({ node }) => context.of(node).writes.map((write) => write.buf)),
  );
  // Overwritten buffers that computing each value loads, through producers in the kernel.
  const loads = new Map<string, Set<string>>();
  const reads = new Map<string, Set<string>>();
  for (const { node } of [...members].sort((a, b) => a.node.id - b.node.id)) {
    const found = new Set<string>();
    for (const { buf } of context.of(node).reads) {
      if (overwritten.has(buf)) found.add(buf);
      else for (const name of loads.get(buf) ?? []) found.add(name);
    }
    for (const { buf } of context.of(node).writes) {
      if (node.kind === 'pointwise' && node.mutation) reads.set(buf, found);
      // A finished reduction is a number: using it loads nothing.
      else if (node.kind === 'pointwise') loads.set(buf, found);
    }
  }
  // Those that nobody else reads any more may be overwritten; what never comes to that is a circle.
  const readers = new Map<string, number>();
  for (const [name, found] of reads)
    for (const other of found)
      if (other !== name) readers.set(other, (readers.get(other) ?? 0) + 1);
  const ready = [...reads.keys()].filter((name) => !readers.has(name));
  let left = reads.size;
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    left--;
    for (const other of reads.get(name)!) {
      if (other === name) continue;
      const count = readers.get(other)! - 1;
      readers.set(other, count);
      if (count === 0 && reads.has(other)) ready.push(other);
    }
  }
  return left === 0;
}
