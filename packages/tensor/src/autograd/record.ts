/**
 * @file The autograd step of dispatch: runs the op below, then attaches its backward node.
 *
 * In-place ops take the history of their functional form; on a view, the base's history is rewritten
 * too (CopySlices). Installed into the dispatcher when this file is loaded.
 */
import { TesseraError } from '@tessera/shared';
import { bindAutograd, dispatchBelowAutograd } from '../dispatch/dispatcher.js';
import { DTYPES, isFloatingPoint } from '../dtype.js';
import { type OpOverload, getOp } from '../op/op-overload.js';
import { readsArgument } from '../op/op-record.js';
import { formatSizes } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { anomaly } from './anomaly-state.js';
import { type GradNode, metaOf } from './grad-node.js';
import { cloneOf } from './gradient-ops.js';
import { gradEdge, gradFnOf, noteWrittenSince, requiresGrad, setHistory } from './history.js';
import { OpNode } from './op-node.js';
import { refuseWrittenView } from './written-view.js';
import { CopySlices } from './view-nodes.js';

function anyRequiresGrad(op: OpOverload, args: readonly unknown[]): boolean {
  for (const i of op.tensorArgs) {
    const arg = args[i];
    if (isTensor(arg)) {
      if (requiresGrad(arg)) return true;
    } else if (Array.isArray(arg)) {
      for (const item of arg) if (isTensor(item) && requiresGrad(item)) return true;
    }
  }
  return false;
}

function differentiable(op: OpOverload): boolean {
  return !op.hasTag('non-differentiable');
}

type OnSelf = readonly [self: Tensor, ...unknown[]];

/** Whether an operator changes self, which its schema, by which the arguments were checked, has first. */
function changesSelf(op: OpOverload, _args: readonly unknown[]): _args is OnSelf {
  return op.record.inplaceOf !== undefined || op.record.layoutOf !== undefined;
}

function recordOp(op: OpOverload, args: readonly unknown[]): unknown {
  const wants = anyRequiresGrad(op, args);
  if (changesSelf(op, args)) {
    const [self] = args;
    if (self.madeAs !== null && (wants || self.base?.requiresGradFlag === true))
      refuseWrittenView(self, self.madeAs, 'is being');
    if (wants && differentiable(op))
      return op.record.inplaceOf !== undefined ? recordInPlace(op, args) : recordLayout(op, args);
  }
  if (!wants || !differentiable(op)) return dispatchBelowAutograd(op, args);
  const node = OpNode.make(op, args, [], gradEdge);
  const result = dispatchBelowAutograd(op, args);
  const outs: readonly Tensor[] = isTensor(result)
    ? [result]
    : Array.isArray(result)
      ? (result as Tensor[])
      : [];
  node.inputMetas = outs.map(metaOf);
  node.setOutputs(outs);
  anomaly.active?.noteForwardCall(node);
  const constant = op.record.constantOutputs;
  outs.forEach((out, i) => {
    if (isFloatingPoint(out.dtype) && constant?.includes(i) !== true) setHistory(out, node, i);
  });
  return result;
}

function recordInPlace(op: OpOverload, args: OnSelf): unknown {
  const [self] = args;
  // Integers that were copied from a tensor with gradients have none.
  if (!isFloatingPoint(self.dtype)) return dispatchBelowAutograd(op, args);
  checkInPlaceLeaf(self);
  const functional = getOp(op.record.inplaceOf!);
  const formals = functional.schema.args;
  const wants = (name: string): boolean =>
    formals.some((formal, i) => formal.name === name && isTensor(args[i]) && requiresGrad(args[i]));
  const savesSelf = readsArgument(functional.record, formals[0]!.name, wants);
  // The vjp wants self as it was before the op.
  const nodeArgs = savesSelf ? [cloneOf(self), ...args.slice(1)] : args;
  const selfEdge = gradEdge(self);
  const node = OpNode.make(functional, nodeArgs, [metaOf(self)], (tensor) =>
    tensor === nodeArgs[0] ? selfEdge : gradEdge(tensor),
  );
  dispatchBelowAutograd(op, args);
  anomaly.active?.noteForwardCall(node);
  attachInPlace(self, node);
  node.setOutputs([self]);
  return self;
}

/** `t_` and its kin: self becomes what the view of its old layout would be. */
function recordLayout(op: OpOverload, args: OnSelf): unknown {
  const [self] = args;
  const view = getOp(op.record.layoutOf!);
  if (!differentiable(view)) return dispatchBelowAutograd(op, args);
  checkInPlaceLeaf(self);
  const node = OpNode.make(view, args, [], gradEdge);
  dispatchBelowAutograd(op, args);
  node.inputMetas = [metaOf(self)];
  node.setOutputs([self]);
  anomaly.active?.noteForwardCall(node);
  setHistory(self, node, 0);
  return self;
}

/** Rewrites the history of `self` (and of its base, if it is a view) after an in-place op. */
function attachInPlace(self: Tensor, node: OpNode): void {
  rewriteHistory(self, node, node.edgeIndex(node.op.schema.args[0]!.name));
}

/** Makes `node` the history of a tensor modified in place; `selfEdge` is the node's edge to its old value, or -1. */
export function rewriteHistory(self: Tensor, node: GradNode, selfEdge: number): void {
  const { base } = self;
  if (base === null) {
    setHistory(self, node, 0);
    return;
  }
  const slices = new CopySlices(self, base, gradEdge(base), node, selfEdge);
  setHistory(base, slices, 0);
  // self's own history now goes through the base.
  noteWrittenSince(self);
  gradFnOf(self);
}

/** Refuses to modify a leaf that requires grad, or a view of a leaf, even of one that does not. @throws inplace-leaf */
export function checkInPlaceLeaf(self: Tensor): void {
  if (!requiresGrad(self)) return;
  const ofLeaf = self.base !== null && gradFnOf(self.base) === null;
  if (!ofLeaf && gradFnOf(self) !== null) return;
  const what = ofLeaf
    ? 'a view of a leaf Variable that requires grad is being used in an in-place operation.'
    : 'a leaf Variable that requires grad is being used in an in-place operation.';
  throw new TesseraError(
    'inplace-leaf',
    `${what} [${DTYPES[self.dtype].scalarTypeName} ${formatSizes(self.sizes)}]`,
    {
      hints: ['Write in noGrad(() => …), or use the out-of-place op.'],
    },
  );
}

bindAutograd(recordOp);
