/**
 * @file What operators of the program's own return views of.
 */
import { Node, tensorVal } from '@tessera/graph';

/** The argument that a call returns a view of; null of other operators, and where a meta rule says something else. */
export function viewedArgument(node: Node): Node | null {
  const { target, args } = node;
  if (typeof target !== 'object' || !target.isCustom || !target.schema.isView) return null;
  const { schema } = target;
  const set = schema.returns[0]!.alias?.set;
  const of = args[schema.args.findIndex(({ alias }) => alias?.set === set)];
  const val = tensorVal(node);
  return val !== null && of instanceof Node && val.storage === tensorVal(of)?.storage ? of : null;
}
