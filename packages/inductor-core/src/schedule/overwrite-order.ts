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
  const waiting = new Set(reads.keys());
  for (let progress = true; progress && waiting.size > 0;) {
    progress = false;
    for (const name of waiting) {
      if ([...waiting].some((other) => other !== name && reads.get(other)!.has(name))) continue;
      waiting.delete(name);
      progress = true;
    }
  }
  return waiting.size === 0;
}
