/**
 * @file The loop space of a scheduled kernel: its loops, and what the kernel's other variables are of them.
 */
import {
  kernelLoops,
  LoopSpace,
  type IndexExpr,
  type ScheduledBody,
  type ScheduledKernel,
} from '@tessera/inductor-core';

/** See the file header. A variable has one definition, wherever it is needed. */
export function scheduledSpace({ kernel, loops, body }: ScheduledKernel): LoopSpace {
  const own = kernelLoops(kernel);
  const space = new LoopSpace(loops ?? own);
  const kept = new Set((loops ?? own).map(({ name }) => name));
  const defined = new Set(own.map(({ name }) => name).filter((name) => !kept.has(name)));
  for (const [name, index] of letsOf(body)) if (defined.has(name)) space.define(name, index);
  return space;
}

/** All variables that a body defines. */
function letsOf(body: ScheduledBody, found = new Map<string, IndexExpr>()): Map<string, IndexExpr> {
  for (const stmt of body) {
    if (stmt.kind === 'let') found.set(stmt.name, stmt.index);
    else if ('body' in stmt) letsOf(stmt.body, found);
  }
  return found;
}
