/**
 * @file Trading time for memory: values to save so that they fit a budget.
 *
 * The budget is a share of what cheap recomputation alone saves, inputs not counted. It lifts limits in
 * order of what they cost: first those on cheap ops (reductions, long chains), then one expensive op
 * after the other, most bytes for the least work first. Modelled on functorch's `choose_saved_values_set`.
 */
import { type Node, tensorVals } from '@tessera/graph';
import { cheapestToSave } from './min-cut.js';
import type { NodeRoles } from './node-roles.js';
import { bytesOf } from './partition.js';
import { recomputeKind } from './recompute-kind.js';
import { CHEAP, type RecomputeFlags, keptNodes } from './recompute-limits.js';

/** Nodes to save. */
export function saveWithinBudget(
  roles: NodeRoles,
  flags: RecomputeFlags,
  budget: number,
): Set<Node> {
  const saved = cheapestToSave(roles, keptNodes(roles, flags));
  const limit = budget * activationBytes(saved);
  if (activationBytes(saved) <= limit) return saved;
  const cheap = { ...CHEAP, random: flags.random };
  const kept = keptNodes(roles, cheap);
  const lessSaved = cheapestToSave(roles, kept);
  if (activationBytes(lessSaved) <= limit) return lessSaved;
  return liftOneByOne(roles, kept, lessSaved, limit);
}

/** Bytes of the saved values that are no inputs. */
function activationBytes(saved: ReadonlySet<Node>): number {
  return [...saved].reduce((sum, node) => sum + (node.op === 'placeholder' ? 0 : bytesOf(node)), 0);
}

/** Allows expensive ops to run again until the rest fits, or nothing is left to allow. */
function liftOneByOne(
  roles: NodeRoles,
  kept: Set<Node>,
  start: Set<Node>,
  limit: number,
): Set<Node> {
  let saved = start;
  const candidates = [...kept]
    .filter((node) => recomputeKind(node) === 'expensive')
    .sort((a, b) => work(a) / bytesOf(a) - work(b) / bytesOf(b));
  for (const node of candidates) {
    kept.delete(node);
    for (const user of node.users.keys()) if (recomputeKind(user) === 'free') kept.delete(user);
    if (!saved.has(node) && ![...node.users.keys()].some((user) => saved.has(user))) continue;
    saved = cheapestToSave(roles, kept);
    if (activationBytes(saved) <= limit) break;
  }
  return saved;
}

/** Multiplications that an expensive op takes, roughly: as many per result as each operand gives it. */
function work(node: Node): number {
  const results = tensorVals(node).reduce((sum, val) => sum + val.numel, 0);
  const operands = node.allInputNodes().flatMap((input) => tensorVals(input));
  const product = operands.reduce((total, val) => total * Math.max(1, val.numel), 1);
  // For [m, k] @ [k, n] → [m, n] this is m·k·n.
  return operands.length < 2 ? results : Math.sqrt(product * results);
}
