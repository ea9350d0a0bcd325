/**
 * @file Tracing a function once: it runs, and the operators that run become nodes. `makeFx` is this with a choice of
 * what the function runs on; passes trace their replacements with it.
 */
import { SymScalar, treeFlatten, treePaths, treeUnflatten } from '@tessera/shared';
import { type Tensor, isTensor, withDispatchMode } from '@tessera/tensor';
import { withFakeTensors, withPreDispatchMode } from '@tessera/tensor/internal';
import { eliminateDeadCode } from '../rewrite/dead-code.js';
import { FakeConverter } from './fake-inputs.js';
import type { GraphModule } from '../ir/graph-module.js';
import { parameterNames } from './parameter-names.js';
import { type DecompositionTable, PreDispatchProxyMode, ProxyMode } from './proxy-modes.js';
import { TraceRecorder } from './trace-recorder.js';

/** How a function is traced. */
export interface TraceFunctionOptions {
  /** Record ops as called, composite ones included, instead of primitive ops below autograd. */
  readonly preDispatch?: boolean;
  /** Replacements of primitive ops, applied until none fits. */
  readonly decompositions?: DecompositionTable;
  /** Names of the inputs in order; by default the function's parameter names. */
  readonly inputNames?: readonly string[];
  /** Record the user's source line of every op; default true. */
  readonly stackTraces?: boolean;
}

/** Names of the inputs: those given, else the function's parameters. */
export function namesOf<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: TraceFunctionOptions,
): readonly string[] {
  const { leaves, spec } = treeFlatten(args);
  return options.inputNames ?? inputNames(parameterNames(fn), treePaths(spec), leaves);
}

/** Traces on the metadata of the arguments. @throws graph-lint when a value cannot stand in a graph */
export function traceOnFakes<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: TraceFunctionOptions = {},
): GraphModule {
  const converter = new FakeConverter();
  return traceFunction(fn, args, options, (tensor) => converter.convert(tensor));
}

/**
 * Traces a function.
 *
 * @param convert what the function is given for a tensor; null to compute on the tensors themselves
 */
export function traceFunction<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: TraceFunctionOptions,
  convert: ((tensor: Tensor) => Tensor) | null,
): GraphModule {
  const recorder = new TraceRecorder(options.stackTraces ?? true);
  const { leaves, spec } = treeFlatten(args);
  const names = namesOf(fn, args, options);
  let count = 0;
  const traced = leaves.map((leaf) => {
    if (!isInput(leaf)) return leaf;
    const value = isTensor(leaf) && convert !== null ? convert(leaf) : leaf;
    recorder.addInput(value, names[count] ?? `arg${count}`);
    count++;
    return value;
  });
  const run = (): unknown => fn(...treeUnflatten(traced, spec));
  const recorded = (): unknown => record(recorder, options, run);
  const result = convert === null ? recorded() : withFakeTensors(recorded);
  recorder.graph.output(recorder.argument(result));
  eliminateDeadCode(recorder.graph);
  recorder.module.removeUnusedAttributes();
  return recorder.module;
}

function record(
  recorder: TraceRecorder,
  options: TraceFunctionOptions,
  run: () => unknown,
): unknown {
  if (options.preDispatch === true)
    return withPreDispatchMode(new PreDispatchProxyMode(recorder), run);
  return withDispatchMode(new ProxyMode(recorder, options.decompositions ?? new Map()), run);
}

/** Whether a value becomes a placeholder. */
export function isInput(leaf: unknown): leaf is Tensor | SymScalar {
  return isTensor(leaf) || leaf instanceof SymScalar;
}

/** Names for the tensor and scalar leaves: the parameter's, with the path inside it. */
function inputNames(
  parameters: readonly (string | null)[],
  paths: readonly string[],
  leaves: readonly unknown[],
): string[] {
  const names: string[] = [];
  leaves.forEach((leaf, i) => {
    if (!isInput(leaf)) return;
    const [, position, rest] = /^\[(\d+)\](.*)$/s.exec(paths[i])!;
    const index = Number(position);
    const last = parameters.at(-1);
    const parameter = parameters[index] ?? (last?.startsWith('...') === true ? last : null);
    const suffix =
      parameter?.startsWith('...') === true ? `_${index - parameters.length + 1}${rest}` : rest;
    names.push(
      `${parameter?.replace('...', '') ?? `arg${index}`}${suffix}`
        .replace(/\W+/g, '_')
        .replace(/_$/, ''),
    );
  });
  return names;
}
