/**
 * @file View steps: how a view is made from the tensor it is a view of.
 *
 * Read off the recorded graph, replayed at run time on real tensors (with autograd), so that outputs
 * that alias an input or each other do so after compilation too.
 */
import { type Argument, Node, getItem, tensorVal } from '@tessera/graph';
import { type OpOverload, type Tensor, callOp } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';
import { viewedArgument } from '../viewed-argument.js';

/** One view op: its arguments after `self`, and which of several results. */
export interface ViewStep {
  readonly op: OpOverload;
  readonly args: readonly unknown[];
  /** Position in the result list, or null. */
  readonly index: number | null;
  /** For `as_strided` without an offset: elements from the first element of the tensor that it views. */
  readonly distance?: number;
}

/** The node that owns the memory of a value, and the views from there to the value. */
export interface ViewOrigin {
  readonly root: Node;
  readonly steps: readonly ViewStep[];
}

/** Walks back over view and in-place ops, to `end` at most. */
export function viewOrigin(node: Node, end?: Node): ViewOrigin {
  const steps: ViewStep[] = [];
  let at = node;
  let index: number | null = null;
  while (at !== end) {
    const { target } = at;
    if (target === getItem) {
      index = at.number(1);
      at = at.input();
      continue;
    }
    if (at.op !== 'call_function' || typeof target !== 'object') break;
    const own = viewedArgument(at);
    if (own !== null) {
      steps.push(stridedStep(tensorVal(at)!, tensorVal(own)!));
      at = own;
      continue;
    }
    const self = at.args[0];
    if (!(self instanceof Node)) break;
    if (target.isView) steps.push({ op: target, args: at.args.slice(1).map(constant), index });
    else if (target.record.inplaceOf === undefined) break;
    index = null;
    at = self;
  }
  return { root: at, steps: steps.reverse() };
}

/** An argument of a view as a constant: views in a traced graph have no run-time scalars. */
function constant(arg: Argument): unknown {
  return Array.isArray(arg) ? [...arg] : arg;
}

/** A single step that reads `view`'s layout from a tensor laid out like `base`. */
export function stridedStep(view: Tensor, base: Tensor): ViewStep {
  return {
    op: getOp('aten::as_strided'),
    args: [[...view.sizes], [...view.strides]],
    index: null,
    distance: view.storageOffset - base.storageOffset,
  };
}

/** Makes the view of a real tensor. */
export function replayView(base: Tensor, steps: readonly ViewStep[]): Tensor {
  let tensor = base;
  for (const { op, args, index, distance } of steps) {
    const place = distance === undefined ? [] : [tensor.storageOffset + distance];
    const result = callOp(op, [tensor, ...args, ...place]);
    tensor = (index === null ? result : (result as readonly Tensor[])[index]) as Tensor;
  }
  return tensor;
}
