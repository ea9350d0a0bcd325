/**
 * @file What is symbolic in a captured graph, as metadata of its nodes.
 *
 * The graph itself is for the sizes of one call. The metadata says which of its numbers are expressions
 * of symbols, for whoever prints it.
 */
import type { Argument, Node, SymbolicShape } from '@tessera/graph';
import type { Prepared } from '../cursor/arguments.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import type { IntPattern } from '../trace/int-pattern.js';
import type { Pattern } from '../trace/pattern.js';

/** Sizes and strides of an input as expressions; undefined where all are numbers. */
export function symbolicShapeOf(guard: TensorGuard): SymbolicShape | undefined {
  if (!guard.isSymbolic) return undefined;
  const size = (int: IntPattern): SymbolicShape['sizes'][number] =>
    typeof int === 'number' ? int : int.expression;
  return { sizes: guard.sizes.map(size), strides: guard.strides.map(size) };
}

/** Notes the arguments of an op that are expressions. */
export function noteSymbolicArgs(node: Node, args: readonly Prepared[]): void {
  if (!args.some(({ pattern }) => isSymbolic(pattern))) return;
  node.meta.symbolicArgs = args.map(({ pattern, node: arg }) => expressionOf(pattern, arg));
}

function isSymbolic(pattern: Pattern): boolean {
  return pattern.code === 5 || (pattern.code === 3 && pattern.items.some(isSymbolic));
}

function expressionOf(pattern: Pattern, arg: Argument): Argument {
  if (pattern.code === 5) return pattern.expression;
  if (pattern.code !== 3) return arg;
  return pattern.items.map((item, i) => expressionOf(item, (arg as readonly Argument[])[i]));
}
