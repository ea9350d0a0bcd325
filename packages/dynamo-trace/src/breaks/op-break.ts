/**
 * @file Which ops end a graph, and why.
 */
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import type { BreakReason } from './graph-breaks.js';

/** Why a call cannot be recorded; null if it can. */
export function opBreak(op: OpOverload, args: readonly unknown[]): BreakReason | null {
  if (op.qualifiedName === 'tessera::custom_function')
    return {
      code: 'GB0007',
      text: 'the backward of a custom autograd function cannot be recorded',
    };
  if (op.qualifiedName === 'tessera::grad_outside_graph')
    return { code: 'GB0005', text: 'grad() with createGraph needs history that is not recorded' };
  if (op.hasTag('data-dependent') || readsValues(op, args))
    return { code: 'GB0002', text: `the shape of ${op.qualifiedName} depends on values` };
  if (op.isMutable && op.changesLayout(args))
    return {
      code: 'GB0008',
      text: `${op.qualifiedName} changes the shape, strides or history of a tensor in place`,
    };
  return null;
}

/** Calls of ops that are data-dependent only with some arguments: masks as indices, classes to be counted. */
function readsValues(op: OpOverload, args: readonly unknown[]): boolean {
  const { qualifiedName: name } = op;
  if (name === 'aten::one_hot') return args[1] === undefined || args[1] === -1;
  if (!INDEXING.has(name)) return false;
  const indices = args[1] as readonly unknown[];
  const isMask = (index: unknown): boolean =>
    isTensor(index) && (index.dtype === 'bool' || index.dtype === 'uint8');
  if (!indices.some(isMask)) return false;
  // One value put where a mask holds is a choice per element, whatever the mask.
  const isChoice = isMask(indices[0]) && indices.slice(1).every((index) => index == null);
  return name === 'aten::index.Tensor' || !isChoice || (args[2] as Tensor).numel !== 1;
}

const INDEXING: ReadonlySet<string> = new Set([
  'aten::index.Tensor',
  'aten::index_put',
  'aten::index_put_',
]);
