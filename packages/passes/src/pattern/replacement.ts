/**
 * @file `registerReplacement`: looks for what one function computes and puts what another computes.
 *
 * Both are traced. The example inputs only find the calls that make up the pattern; where these occur,
 * the searched function is traced again on the actual shapes and must fit exactly, constants included,
 * and the replacement is traced on them.
 */
import { type Argument, type GraphModule, Node, type HostFunction } from '@tessera/graph';
import { type Tensor, isTensor } from '@tessera/tensor';
import { removeNoops } from '../noop-removal.js';
import { foldViews } from '../view-folding.js';
import { graphToPattern } from './graph-to-pattern.js';
import { type Match, traceOn, traceOnValues } from './match.js';
import { matchAt } from './pattern.js';
import type { PatternOptions } from './pattern-matcher-pass.js';

/** Options of `registerReplacement`. */
export interface ReplacementOptions extends PatternOptions {
  /**
   * Example values for parameters that are numbers, by position behind the tensors; values must not occur
   * as other constants of the searched function.
   */
  readonly scalars?: readonly number[];
}

/**
 * Replaces `search(...inputs)` by `replace(...inputs)` wherever it occurs. Both take tensors, then the
 * numbers of `scalars`, and return a tensor or a list of tensors.
 *
 * @param exampleInputs tensors on which `search` runs: their shapes only need to be possible
 * @throws graph-lint when `search` reads other tensors than its arguments
 * @see torch._inductor.pattern_matcher.register_replacement
 */
export function registerReplacement(
  search: (...args: never[]) => unknown,
  replace: (...args: never[]) => unknown,
  exampleInputs: readonly Tensor[],
  options: ReplacementOptions,
): void {
  const scalars = options.scalars ?? [];
  const tensorNames = exampleInputs.map((_, i) => `arg${i}`);
  const scalarNames = scalars.map((_, i) => `scalar${i}`);
  const names = [...tensorNames, ...scalarNames];
  const traced = canonical(traceExamples(search, exampleInputs, scalars));
  const pattern = graphToPattern(traced, {
    names: tensorNames,
    scalars: Object.fromEntries(scalarNames.map((name, i) => [name, scalars[i]!])),
    exact: false,
  });
  const valuesOf = (match: Match): Argument[] => names.map((name) => match.kwargs[name]);
  options.passes.add({
    pattern,
    extraCheck: (match) => {
      const values = valuesOf(match);
      if (!fitsExactly(match, search, values, tensorNames.length)) return false;
      return match.canReplace(values) && (options.extraCheck?.(match) ?? true);
    },
    apply: (match) => match.replaceByExample(replace, valuesOf(match)),
  });
}

function traceExamples(
  fn: HostFunction,
  tensors: readonly Tensor[],
  scalars: readonly number[],
): GraphModule {
  return traceOnValues((...values) => fn(...values, ...scalars), tensors);
}

/** The trace as the graphs are that it is searched in: without no-ops. */
function canonical(module: GraphModule): GraphModule {
  removeNoops(module);
  foldViews(module);
  return module;
}

/** Whether the searched function, traced on the actual values, is what stands in the graph. */
function fitsExactly(
  match: Match,
  search: (...args: never[]) => unknown,
  values: readonly Argument[],
  tensorCount: number,
): boolean {
  const tensors = values.slice(0, tensorCount);
  if (!tensors.every((value) => value instanceof Node && isTensor(value.meta.val))) return false;
  let traced: GraphModule;
  try {
    traced = canonical(traceOn(search, values));
  } catch {
    // The searched function refuses these shapes: then it is not what stands there.
    return false;
  }
  const names = tensors.map((_, i) => `arg${i}`);
  const state = matchAt(graphToPattern(traced, { names, exact: true }), match.output);
  return state !== null && names.every((name) => state.kwargs.get(name) === match.kwargs[name]);
}
