/**
 * @file Limits of recomputation: which values of the forward pass the backward pass must not compute again.
 *
 * Each limit is a flag. Without any, all but products, convolutions and random ops may run again, which
 * saves the least memory and takes the most time. Modelled on `MinCutOptions` of functorch's
 * partitioners.
 */
import { type Node, getItem, writtenInputs } from '@tessera/graph';
import { type OpOverload } from '@tessera/tensor';
import { replayOf } from '@tessera/tensor/internal';
import type { NodeRoles } from './node-roles.js';
import { bytesOf, isViewNode, viewedNode } from './partition.js';
import { fusesWith, recomputeKind } from './recompute-kind.js';

/** What may be computed again; true allows it. */
export interface RecomputeFlags {
  /** Products, convolutions, sorts, custom ops. */
  readonly expensive: boolean;
  /** Random ops, which then replay the draw of the forward pass. */
  readonly random: boolean;
  /** Reductions and normalisations. */
  readonly reductions: boolean;
  /** Values that backward must write to memory anyway, since what reads them does not fuse. */
  readonly materialized: boolean;
  /** Values that are read again behind an op that does not fuse. */
  readonly farApart: boolean;
  /** Chains of fusible ops longer than `MAX_CHAIN`. */
  readonly longChains: boolean;
}

/** Cheap recomputation only. */
export const CAUTIOUS: RecomputeFlags = {
  expensive: false,
  random: false,
  reductions: false,
  materialized: false,
  farApart: false,
  longChains: false,
};

/** All that is cheap, however much of it: all but what is expensive or random. */
export const CHEAP: RecomputeFlags = {
  ...CAUTIOUS,
  reductions: true,
  materialized: true,
  farApart: true,
  longChains: true,
};

/** Ops in a row that may be computed again. */
const MAX_CHAIN = 100;

/** A reduction to less than this share of what it reads is saved: the result is small. */
const SMALL_RESULT = 4;

/** Nodes of the forward pass that must not run again; if backward needs them they are saved. */
export function keptNodes(roles: NodeRoles, flags: RecomputeFlags): Set<Node> {
  const kept = new Set<Node>();
  const keep = (node: Node): void => {
    if (!isViewNode(node)) kept.add(node);
  };
  for (const node of roles.nodes) {
    // What an op without functional form wrote to has contents that its own op does not make.
    for (const target of writtenInputs(node)) keep(target);
    if (roles.forward.has(node) && node.op !== 'placeholder' && !allows(node, roles, flags))
      keep(node);
  }
  if (!flags.longChains) keepLongChains(roles, keep);
  if (!flags.farApart) keepFarReads(roles, keep);
  // A list is not saved; its items are.
  for (const node of roles.nodes) if (node.target === getItem && kept.has(node.input())) keep(node);
  return kept;
}

function allows(node: Node, roles: NodeRoles, flags: RecomputeFlags): boolean {
  switch (recomputeKind(node)) {
    case 'free':
      return true;
    case 'never':
      return false;
    case 'random':
      return flags.random && replayOf(node.target as OpOverload) !== null;
    case 'expensive':
      return flags.expensive;
    case 'reduction':
      if (!flags.reductions && isRealReduction(node)) return false;
      break;
    case 'fusible':
  }
  return flags.materialized || !isMaterializedIn(node, roles);
}

/** Reductions that read everything once, for which only the size of what they give counts. */
const SINGLE_PASS: ReadonlySet<string> = new Set([
  'all',
  'amax',
  'amin',
  'any',
  'argmax',
  'argmin',
  'max',
  'mean',
  'min',
  'std',
  'sum',
  'var',
  'var_mean',
]);

/** Whether a node reads much more than it gives, or reads everything twice. */
function isRealReduction(node: Node): boolean {
  const read = node.allInputNodes().reduce((bytes, input) => bytes + bytesOf(input), 0);
  if (bytesOf(node) * SMALL_RESULT < read) return true;
  if (SINGLE_PASS.has((node.target as OpOverload).schema.name)) return false;
  return Array.isArray(node.meta.val) || bytesOf(node) >= read;
}

/** Whether backward reads the value with an op that does not fuse. */
function isMaterializedIn(node: Node, { forward }: NodeRoles): boolean {
  const stack = [node];
  while (stack.length > 0) {
    const value = stack.pop()!;
    for (const user of value.users.keys()) {
      if (user.op === 'output') continue;
      if (isViewNode(user)) stack.push(user);
      else if (!forward.has(user) && !fusesWith(value, user)) return true;
    }
  }
  return false;
}

function keepLongChains({ nodes, forward }: NodeRoles, keep: (node: Node) => void): void {
  const length = new Map<Node, number>();
  for (const node of nodes) {
    if (!forward.has(node)) continue;
    const before = node
      .allInputNodes()
      .map((input) => (fusesWith(input, node) ? (length.get(input) ?? 0) : 0));
    const chain = Math.max(0, ...before) + (recomputeKind(node) === 'free' ? 0 : 1);
    if (chain > MAX_CHAIN) keep(node);
    length.set(node, chain > MAX_CHAIN ? 0 : chain);
  }
}

/** Keeps what is made from a value after an op that does not fuse has read it: the value would stay alive. */
function keepFarReads({ forward, order }: NodeRoles, keep: (node: Node) => void): void {
  for (const node of forward) {
    // Inputs are the caller's, and alive as long as it likes.
    if (node.op === 'placeholder' || node.op === 'get_attr') continue;
    const readers = [...node.users.keys()].filter((user) => forward.has(user));
    const last = Math.max(-1, ...readers.map((reader) => order.get(reader)!));
    const barrier = firstUnfusedRead(readers, last, forward, order);
    for (const reader of readers)
      if (order.get(reader)! > barrier && fusesWith(node, reader)) keep(reader);
  }
}

/** Position of the first op behind `starts`, up to `end`, that does not fuse with what it reads. */
function firstUnfusedRead(
  starts: readonly Node[],
  end: number,
  forward: ReadonlySet<Node>,
  order: ReadonlyMap<Node, number>,
): number {
  let first = Infinity;
  const seen = new Set<Node>(starts);
  const stack = [...starts];
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (order.get(node)! >= Math.min(end, first)) continue;
    for (const user of node.users.keys()) {
      if (!forward.has(user) || seen.has(user)) continue;
      if (!fusesWith(node, user)) first = Math.min(first, order.get(user)!);
      else {
        seen.add(user);
        stack.push(user);
      }
    }
  }
  return first;
}

/** Bytes that saving a node takes; Infinity if it is computed again rather than saved. */
export function savedBytes(node: Node): number {
  // A list is not saved, not of views either; its items are.
  if (node.op === 'get_attr' || Array.isArray(node.meta.val)) return Infinity;
  if (isViewNode(node)) {
    // A part of an intermediate is saved as a copy; other views keep the same memory alive.
    const root = viewedNode(node);
    if (root.op !== 'call_function' || bytesOf(node) >= bytesOf(root)) return Infinity;
  }
  return bytesOf(node);
}
