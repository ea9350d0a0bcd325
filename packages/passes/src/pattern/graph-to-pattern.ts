/**
 * @file `graphToPattern`: a traced function as a pattern.
 */
import { type Argument, type GraphModule, Node, graphError } from '@tessera/graph';
import {
  CallFunction,
  type CallPattern,
  Ignored,
  KeywordArg,
  MultiOutput,
  Pattern,
  type PatternArgument,
} from './pattern.js';

/** How constants become part of a pattern. */
export interface GraphToPatternOptions {
  /** Names of the inputs, in order: each becomes a `KeywordArg`. */
  readonly names: readonly string[];
  /** Numbers that stand for named holes. */
  readonly scalars?: Readonly<Record<string, number>>;
  /** Whether numbers, dtypes and lists of numbers must be equal; otherwise they are ignored. */
  readonly exact: boolean;
}

/** The pattern of a graph's outputs. @throws graph-lint for graphs that are no calls of functions */
export function graphToPattern(module: GraphModule, options: GraphToPatternOptions): Pattern {
  const made = new Map<Argument, Pattern>();
  const byScalar = new Map(
    Object.entries(options.scalars ?? {}).map(([name, value]) => [value, name]),
  );
  const argument = (arg: Argument): PatternArgument => {
    if (arg instanceof Node) return made.get(arg)!;
    if (typeof arg === 'number' && byScalar.has(arg)) return KeywordArg(byScalar.get(arg)!);
    if (Array.isArray(arg)) {
      const items = arg.map(argument);
      const plain = !items.some((item) => item instanceof Pattern);
      return plain && !options.exact ? Ignored() : items;
    }
    if (!options.exact && (typeof arg === 'number' || typeof arg === 'string')) return Ignored();
    return arg;
  };
  let inputs = 0;
  let result: Argument = null;
  for (const node of module.graph.nodes) {
    if (node.op === 'placeholder') made.set(node, KeywordArg(options.names[inputs++]!));
    else if (node.op === 'output') result = node.args[0];
    else if (node.op === 'call_function') made.set(node, callOf(node, argument));
    else
      throw graphError(
        `A pattern cannot refer to '${String(node.target)}': it has a constant tensor.`,
        'Pass the tensor as an argument of the searched function.',
      );
  }
  const outputs = Array.isArray(result) ? result : [result];
  const patterns = outputs.map((output) => made.get(output)!);
  return patterns.length === 1 ? patterns[0]! : MultiOutput(patterns);
}

function callOf(node: Node, argument: (arg: Argument) => PatternArgument): CallPattern {
  return CallFunction(node.target, ...node.args.map(argument), {
    users: node.users.size,
  });
}
