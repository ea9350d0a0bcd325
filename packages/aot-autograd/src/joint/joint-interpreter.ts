/**
 * @file Runs a captured program for the joint trace.
 *
 * `tessera::autograd_grad` stands for a `backward()` of the program: the real engine runs it. Its graph
 * is used up by that, as in eager, so values that were computed through it can not be differentiated
 * again by the caller.
 */
import { type HostFunction, Interpreter, type Node } from '@tessera/graph';
import { type GradNode, type OpOverload, type Tensor, getOp, gradFnOf } from '@tessera/tensor';
import { ProgramInput } from './primals.js';

/** Backward nodes that a `backward()` of the program has used up. */
export class ConsumedGraph {
  private readonly nodes = new Set<GradNode>();

  /** Marks everything behind these tensors as used up. */
  consume(tensors: readonly Tensor[]): void {
    for (const node of reachable(tensors.map(gradFnOf), (seen) => this.nodes.has(seen))) {
      // Leaves and the inputs' own nodes belong to the caller: they are never used up.
      if (node.nextEdges.length > 0 && !(node instanceof ProgramInput)) this.nodes.add(node);
    }
  }

  /** Whether differentiating the tensor would run into a part that is used up. */
  covers(tensor: Tensor): boolean {
    if (this.nodes.size === 0) return false;
    for (const node of reachable([gradFnOf(tensor)], () => false))
      if (this.nodes.has(node)) return true;
    return false;
  }
}

function reachable(
  roots: readonly (GradNode | null)[],
  stop: (node: GradNode) => boolean,
): Set<GradNode> {
  const seen = new Set<GradNode>();
  const stack = roots.filter((root) => root !== null);
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node) || stop(node)) continue;
    seen.add(node);
    for (const edge of node.nextEdges) if (edge !== null) stack.push(edge.node);
  }
  return seen;
}

/** See the file header. */
export class JointInterpreter extends Interpreter {
  /** Filled while running. */
  readonly consumed: ConsumedGraph = new ConsumedGraph();

  override callFunction(
    target: OpOverload | HostFunction,
    args: readonly unknown[],
    node: Node,
  ): unknown {
    const result = super.callFunction(target, args, node);
    if (target === getOp('tessera::autograd_grad')) this.consumed.consume(args[0] as Tensor[]);
    return result;
  }
}
