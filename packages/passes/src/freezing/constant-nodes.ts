/**
 * @file Which nodes are constants, and the shape of constants that a layer before them can absorb.
 */
import { type Argument, type Graph, Node, emitOp, tensorVal } from '@tessera/graph';
import { type DType, getOp } from '@tessera/tensor';

/** Whether the value is known now: an attribute, or made from numbers alone. */
export function isConstantNode(arg: Argument): arg is Node {
  if (!(arg instanceof Node)) return false;
  if (arg.op === 'get_attr') return true;
  if (arg.op !== 'call_function' || typeof arg.target !== 'object') return false;
  return (
    arg.target.hasTag('factory') &&
    !arg.target.hasTag('random') &&
    !arg.target.hasTag('uninitialized') &&
    arg.allInputNodes().length === 0
  );
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
