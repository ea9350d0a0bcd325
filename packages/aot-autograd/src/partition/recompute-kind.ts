/**
 * @file What it costs to compute a node of the forward pass again in the backward pass.
 */
import { type Node, getItem, isImpure, isTransfer } from '@tessera/graph';
import type { OpOverload } from '@tessera/tensor';
import { isViewNode } from './partition.js';

/** Kinds of nodes, from free to never. */
export type RecomputeKind =
  /** A view, a constant, an item of a list: nothing is computed. */
  | 'free'
  /** Fuses with what reads it. */
  | 'fusible'
  /** Reads much to compute little, but fuses with pointwise ops. */
  | 'reduction'
  /** Draws random numbers: again only if the draw can be replayed. */
  | 'random'
  /** Products, convolutions, sorts, copies to another device, custom ops: worth saving. */
  | 'expensive'
  /** Has effects. */
  | 'never';

/** Ops without the pointwise tag that a code generator fuses into their readers, by name without overload. */
const FUSIBLE: ReadonlySet<string> = new Set([
  'clone',
  'copy',
  '_to_copy',
  'cat',
  'stack',
  'constant_pad_nd',
  'embedding',
  'expand_copy',
  'fill',
  'flip',
  'gather',
  'index',
  'index_select',
  'masked_fill',
  'native_dropout_backward',
  'one_hot',
  'repeat',
  'roll',
  'select_scatter',
  'slice_scatter',
  'diagonal_scatter',
  'as_strided_scatter',
  'threshold_backward',
  'tril',
  'triu',
  'where',
  'zeros_like',
  'ones_like',
  'full_like',
  'new_zeros',
  'new_ones',
  'new_full',
]);

/** The kind of a node that runs in the forward pass. */
export function recomputeKind(node: Node): RecomputeKind {
  if (node.op === 'placeholder' || node.op === 'get_attr' || node.target === getItem) return 'free';
  if (node.op !== 'call_function') return 'never';
  const { target } = node;
  if (typeof target !== 'object') return isImpure(node) ? 'never' : 'expensive';
  if (target.hasTag('random')) return target.isMutable ? 'never' : 'random';
  if (target.isMutable || target.hasTag('effect')) return 'never';
  if (isViewNode(node)) return 'free';
  if (target.hasTag('uninitialized')) return 'never';
  if (target.hasTag('factory')) return node.allInputNodes().length === 0 ? 'free' : 'fusible';
  if (target.hasTag('reduction')) return 'reduction';
  if (target.hasTag('compute-intensive') || target.hasTag('data-dependent')) return 'expensive';
  return isFusibleOp(target) && !isTransfer(node) ? 'fusible' : 'expensive';
}

function isFusibleOp(op: OpOverload): boolean {
  if (op.hasTag('pointwise')) return true;
  return op.qualifiedName.startsWith('aten::') && FUSIBLE.has(op.schema.name);
}

/** Whether a code generator may compute both in one kernel. */
export function fusesWith(producer: Node, consumer: Node): boolean {
  return fuses(recomputeKind(producer)) && fuses(recomputeKind(consumer));
}

function fuses(kind: RecomputeKind): boolean {
  return kind === 'fusible' || kind === 'reduction' || kind === 'free' || kind === 'random';
}
