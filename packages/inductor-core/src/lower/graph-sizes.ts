/**
 * @file `GraphSizes`: what of a graph's numbers are sizes that may vary, as a lowering sees it.
 */
import type { Argument, Node, SymbolicVal } from '@tessera/graph';
import type { ShapeEnv, SizeProgram, SymInt } from '@tessera/shared';

/** See the file header. The graph itself has the numbers of its example. */
export interface GraphSizes {
  /** Owns the symbols. Conditions that a lowering needs are guards in it. */
  readonly env: ShapeEnv;
  readonly symbols: readonly SymInt[];
  /** Computes sizes of values of the symbols. */
  readonly program: SizeProgram;
  /** Sizes and strides of a node's value; undefined where none of them vary. */
  shapesOf(node: Node): SymbolicVal | undefined;
  /** Arguments of a node, with expressions of the symbols. */
  argsOf(node: Node): readonly Argument[];
}
