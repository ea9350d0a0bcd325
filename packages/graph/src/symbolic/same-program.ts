/**
 * @file `programDifference`: whether two traces of a function are one program at different sizes.
 *
 * They are when they have the same nodes with the same arguments but for numbers. What numbers mean is
 * found afterwards (unify-graphs.ts).
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import { sameNumbers } from '@tessera/tensor/internal';
import type { GraphModule } from '../ir/graph-module.js';
import { type Argument, Node } from '../ir/node.js';
import { printArgument, printNode } from '../ir/print-graph.js';
import { tensorVals } from '../ir/value-meta.js';

/** The first difference in words, or null. */
export function programDifference(example: GraphModule, other: GraphModule): string | null {
  const left = example.graph.nodes;
  const right = other.graph.nodes;
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [a, b] = [left.at(i), right.at(i)];
    if (a === undefined || b === undefined || !sameCall(a, b, example, other))
      return `the program runs ${describe(b)} where it ran ${describe(a)}`;
  }
  return null;
}

function describe(node: Node | undefined): string {
  if (node === undefined) return 'nothing';
  const at = node.meta.stackTrace;
  return `\`${printNode(node, { shapes: false })}\`${at === undefined ? '' : ` (${at})`}`;
}

function sameCall(a: Node, b: Node, left: GraphModule, right: GraphModule): boolean {
  if (a.op !== b.op || a.name !== b.name || a.args.length !== b.args.length) return false;
  if (a.op === 'get_attr') return sameAttribute(a, b, left, right);
  if (a.target !== b.target) return false;
  return a.args.every((arg, i) => sameShape(arg, b.args[i])) && sameKind(a, b);
}

/** Constants that the program makes must not depend on sizes. */
function sameAttribute(a: Node, b: Node, left: GraphModule, right: GraphModule): boolean {
  const one = left.getAttribute(a.path);
  const two = right.getAttribute(b.path);
  if (!isTensor(one) || !isTensor(two)) return one === two;
  return sameConstant(one, two);
}

/** Whether two constants are the same tensor or have the same values. */
export function sameConstant(a: Tensor, b: Tensor): boolean {
  if (a === b) return true;
  if (a.dtype !== b.dtype || a.device !== b.device || !sameNumbers(a.sizes, b.sizes)) return false;
  if (a.isFake || b.isFake || a.device !== 'cpu') return false;
  return printArgument(a.toArray()) === printArgument(b.toArray());
}

/** Arguments that differ in numbers at most. */
function sameShape(a: Argument, b: Argument): boolean {
  if (a instanceof Node || b instanceof Node)
    return a instanceof Node && b instanceof Node && a.name === b.name;
  if (typeof a === 'number' && typeof b === 'number')
    return Object.is(a, b) || (Number.isFinite(a) && Number.isFinite(b));
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => sameShape(item, b[i]));
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return Object.is(a, b);
  const [x, y] = [a, b] as Record<string, Argument>[];
  const keys = Object.keys(x);
  return keys.length === Object.keys(y).length && keys.every((key) => sameShape(x[key], y[key]));
}

/** Values of the same dtype, rank and need of gradients. */
function sameKind(a: Node, b: Node): boolean {
  const left = tensorVals(a);
  const right = tensorVals(b);
  return (
    left.length === right.length &&
    left.every((val, i) => {
      const other = right[i];
      return (
        val.dtype === other.dtype &&
        val.device === other.device &&
        val.ndim === other.ndim &&
        val.requiresGradFlag === other.requiresGradFlag
      );
    })
  );
}
