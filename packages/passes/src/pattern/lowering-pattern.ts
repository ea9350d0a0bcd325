/**
 * @file `registerLoweringPattern`: a match becomes one node, which the code generator lowers as the
 * handler says.
 *
 * The node calls a function that stands for the pattern; its arguments are the list of `Arg()` values and
 * the record of `KeywordArg` values. Code generators find the handler with `loweringOf`.
 */
import { type HostFunction, graphError, registerHostFunction } from '@tessera/graph';
import type { Match } from './match.js';
import type { Pattern } from './pattern.js';
import type { PatternOptions } from './pattern-matcher-pass.js';

/** What a handler may do while the graph is lowered. */
export interface PatternLowering {
  /** Lowers a call of an operator on lowered values: what the code generator does for such a node. */
  call(op: string, args: readonly unknown[]): unknown;
}

/**
 * Lowers a match: `args` and `kwargs` are the values of the holes, tensors as the code generator sees
 * them. Returns the value (or list of values) that takes the place of the match.
 */
export type LoweringHandler = (
  lowering: PatternLowering,
  args: readonly unknown[],
  kwargs: Readonly<Record<string, unknown>>,
) => unknown;

const handlers = new WeakMap<HostFunction, LoweringHandler>();
let registered = 0;

/** How a function that stands for a pattern is lowered; undefined for other functions. */
export function loweringOf(fn: HostFunction): LoweringHandler | undefined {
  return handlers.get(fn);
}

/**
 * Replaces every match by one node that `handler` lowers.
 *
 * @see torch._inductor.pattern_matcher.register_lowering_pattern
 * @example
 * registerLoweringPattern(
 *   CallFunction('aten::relu', CallFunction('aten::mm', Arg(), Arg())),
 *   (lowering, [a, b]) => lowering.call('aten::relu', [lowering.call('aten::mm', [a, b])]),
 *   { passes },
 * );
 */
export function registerLoweringPattern(
  pattern: Pattern,
  handler: LoweringHandler,
  options: PatternOptions & {
    /** Name of the function in printed graphs. */ readonly name?: string;
  },
): void {
  const number = registered++;
  const name = `${options.name ?? 'lowering_pattern'}_${number}`;
  const stand: HostFunction = Object.defineProperty(
    (): never => {
      throw graphError(
        `'${name}' stands for a pattern and can only be lowered.`,
        'Run the graph through a code generator, or run it before the pass.',
      );
    },
    'name',
    { value: name },
  );
  handlers.set(stand, handler);
  registerHostFunction(`passes.${name}`, stand, { pure: true });
  options.passes.add({
    pattern,
    extraCheck: options.extraCheck ?? (() => true),
    apply: (match) => replaceByCall(match, stand),
  });
}

function replaceByCall(match: Match, stand: HostFunction): void {
  const { output, graph } = match;
  const node = graph.insertingBefore(output, () =>
    graph.callFunction(stand, [match.args, match.kwargs]),
  );
  node.meta = { ...output.meta };
  output.replaceAllUsesWith(node);
  match.eraseNodes();
}
