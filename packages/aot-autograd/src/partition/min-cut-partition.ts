/**
 * @file `minCutRematerializationPartition`: saves the fewest bytes for backward, and computes the rest again.
 *
 * What may be computed again is limited by flags (recompute-limits.ts); which of the allowed values are
 * saved is a minimum cut (min-cut.ts); a memory budget below 1 lifts limits until the saved values fit
 * (memory-budget.ts). Views and constants are never saved.
 */
import { type Node, emitOp } from '@tessera/graph';
import { defineConfig, option } from '@tessera/shared';
import { getOp } from '@tessera/tensor/internal';
import { saveWithinBudget } from './memory-budget.js';
import { nodeRoles } from './node-roles.js';
import {
  type JointGraph,
  type Partition,
  type Partitioner,
  closure,
  cut,
  isViewNode,
} from './partition.js';
import { CAUTIOUS, type RecomputeFlags } from './recompute-limits.js';

/** What the partitioner may do. */
export interface MinCutOptions {
  /**
   * Share of the activations that cheap recomputation alone would save that may be saved: 1 lifts no
   * limit, 0 saves inputs only.
   */
  readonly activationMemoryBudget?: number;
  /** Limits to lift from the start. */
  readonly allow?: Partial<RecomputeFlags>;
}

const settings = defineConfig('aot', {
  activationMemoryBudget: option(
    1,
    'share of the activations of cheap recomputation that may be saved for backward (0 to 1)',
    (value: number) => (value >= 0 && value <= 1 ? undefined : 'expected a number from 0 to 1'),
  ),
  recomputeRandom: option(
    false,
    'let backward replay the random numbers of forward instead of saving what was made from them',
  ),
  recomputeReductions: option(false, 'let backward compute reductions again'),
  recomputeFarApart: option(
    false,
    'let backward compute values again that are read behind an op that does not fuse',
  ),
});

/** Partitions with given options. */
export function minCutPartitioner(options: MinCutOptions = {}): Partitioner {
  const flags = { ...CAUTIOUS, ...options.allow };
  return (joint) => partition(joint, flags, options.activationMemoryBudget ?? 1);
}

/** Partitions as `config.aot` says. @see functorch's min_cut_rematerialization_partition */
export const minCutRematerializationPartition: Partitioner = (joint) => {
  const { recomputeRandom, recomputeReductions, recomputeFarApart } = settings;
  const flags: RecomputeFlags = {
    ...CAUTIOUS,
    random: recomputeRandom,
    reductions: recomputeReductions,
    farApart: recomputeFarApart,
  };
  return partition(joint, flags, settings.activationMemoryBudget);
};

function partition(joint: JointGraph, flags: RecomputeFlags, budget: number): Partition {
  const roles = nodeRoles(joint);
  const saved = saveWithinBudget(roles, flags, budget);
  const holders = copiesToSave(joint, saved);
  const forward = closure([...roles.forward, ...saved, ...holders.values()], () => false);
  return cut(joint, { forward, backward: roles.backward }, (node) => saved.has(node), holders);
}

/** Copies of saved values that the program overwrites, or that are parts of larger intermediates. */
function copiesToSave(joint: JointGraph, saved: ReadonlySet<Node>): Map<Node, Node> {
  const { graph } = joint.module;
  const updated = new Set(joint.updated);
  const copies = new Map<Node, Node>();
  for (const node of saved) {
    if (!updated.has(node) && !isViewNode(node)) continue;
    const insert = (): Node =>
      emitOp(graph, getOp('aten::clone'), [node, null], { seqNr: node.meta.seqNr });
    // Inputs are copied before anything runs; updates come last, so what is a view is still intact.
    const first = graph.nodes.find((item) => item.op !== 'placeholder')!;
    copies.set(
      node,
      node.op === 'placeholder'
        ? graph.insertingBefore(first, insert)
        : graph.insertingAfter(node, insert),
    );
  }
  return copies;
}
