/**
 * @file Which nodes are constants, and the shape of constants that a layer before them can absorb.
 */
import { type Argument, type Graph, Node, emitOp, isImpure, tensorVal } from '@tessera/graph';
import type { DType } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';

/** Calls through which `isConstantNode` looks: what folding emits for one layer is not deeper. */
const MOST_DEPTH = 12;

/** Whether the value is known now: an attribute, made from numbers alone, or computed from such. */
export function isConstantNode(arg: Argument, depth: number = MOST_DEPTH): arg is Node {
  if (!(arg instanceof Node)) return false;
  if (arg.op === 'get_attr') return true;
  if (arg.op !== 'call_function' || typeof arg.target !== 'object' || isImpure(arg)) return false;
  if (arg.target.hasTag('uninitialized') || depth === 0) return false;
  const inputs = arg.allInputNodes();
  if (inputs.length === 0) return arg.target.hasTag('factory');
  return inputs.every((input) => isConstantNode(input, depth - 1));
}

/** Moves constants in front of everything that computes, so that what they are folded into may use them. */
export function hoistConstants(graph: Graph): void {
  const { nodes } = graph;
  const first = nodes.find((node) => node.op !== 'placeholder' && !isConstantNode(node));
  if (first === undefined) return;
  for (const node of nodes.slice(nodes.indexOf(first)))
    if (isConstantNode(node)) graph.moveBefore(node, first);
}

/** Short for emitting operators on constants in front of a node; constant folding computes them. */
export class ConstantMath {
  constructor(
    private readonly graph: Graph,
    private readonly at: Node,
  ) {}

  /** Emits a call. */
  call(op: string, ...args: readonly Argument[]): Node {
    return this.graph.insertingBefore(this.at, () =>
      emitOp(this.graph, getOp(op), args, { originalAten: this.at.meta.originalAten }),
    );
  }

  /** The value in another dtype. */
  cast(value: Node, dtype: DType): Node {
    if (tensorVal(value)?.dtype === dtype) return value;
    return this.call('aten::_to_copy', value, dtype, null, null, null, false, null);
  }

  /** The value with other sizes. */
  reshape(value: Node, sizes: readonly number[]): Node {
    return this.call('aten::view', value, [...sizes]);
  }
}

/** Sizes that lay a vector along one dimension: [1, …, -1, …, 1]. */
export function along(dim: number, ndim: number): number[] {
  return Array.from({ length: ndim }, (_, i) => (i === dim ? -1 : 1));
}
