/**
 * @file The order in which kernels run: topological, and otherwise that of the program.
 *
 * Except around what goes on beside them: a call that starts something runs as soon as it can, so what leads to it
 * comes before what does not; a call that waits runs when nothing else is left to do. Compare "raise communication,
 * sink waits" in inductor's scheduler. A recurrence, which few threads compute step by step, comes after what need not wait
 * for it: recurrences that do not wait for each other are neighbours then, which a device may run side by side.
 */
import { PriorityQueue, TesseraError } from '@tessera/shared';
import type { Group } from './group.js';

type Successors = (group: Group) => ReadonlySet<Group>;

function effectOf(group: Group): string | null {
  return group.kind === 'extern' ? group.extern.effect : null;
}

/** Puts groups in order. @throws plan-invalid where groups wait for each other */
export function inExecutionOrder(groups: readonly Group[], successors: Successors): Group[] {
  const waiting = new Map<Group, number>(groups.map((group) => [group, 0]));
  for (const group of groups)
    for (const next of successors(group)) waiting.set(next, waiting.get(next)! + 1);
  const urgency = urgencies(groups, successors);
  const ready = new PriorityQueue<Group>((a, b) => {
    const [first, second] = [a, b].map(
      (group) => (urgency.get(group) ?? 0) + (group.kind === 'recurrence' ? 0.5 : 0),
    );
    return first < second || (first === second && a.id < b.id);
  });
  for (const [group, count] of waiting) if (count === 0) ready.push(group);
  const order: Group[] = [];
  for (let group = ready.pop(); group !== undefined; group = ready.pop()) {
    order.push(group);
    for (const next of successors(group)) {
      const left = waiting.get(next)! - 1;
      waiting.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  if (order.length < groups.length)
    throw new TesseraError('plan-invalid', 'Fusion left kernels that wait for each other.', {
      hints: ['This is a bug of Tessera; please report it with TESSERA_LOGS=graph.'],
    });
  return order;
}

/** Number of a group among those that are ready, smallest first: the first start that it leads to; then all others, then waits. */
function urgencies(groups: readonly Group[], successors: Successors): Map<Group, number> {
  const starts = groups.filter((group) => effectOf(group) === 'starts');
  if (starts.length === 0) return new Map();
  const before = new Map<Group, Group[]>();
  for (const group of groups)
    for (const next of successors(group)) {
      const list = before.get(next);
      if (list === undefined) before.set(next, [group]);
      else list.push(group);
    }
  const urgency = new Map<Group, number>();
  starts.sort((a, b) => a.id - b.id);
  starts.forEach((start, number) => {
    const stack = [start];
    for (let group = stack.pop(); group !== undefined; group = stack.pop()) {
      if (urgency.has(group)) continue;
      urgency.set(group, number);
      stack.push(...(before.get(group) ?? []));
    }
  });
  for (const group of groups) {
    if (effectOf(group) === 'waits') urgency.set(group, Infinity);
    else if (!urgency.has(group)) urgency.set(group, starts.length);
  }
  return urgency;
}
