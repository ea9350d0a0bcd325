/**
 * @file `makeFx`: traces a function into a GraphModule by running it.
 *
 * The operators that run become nodes: primitive ones below autograd, or with `preDispatch` those that
 * were called. JavaScript control flow and plain numbers are frozen as they were. Tensors and
 * `SymScalar`s among the arguments (nested ones too) become placeholders, in order; tensors from
 * elsewhere become constants. Modelled on torch.fx.experimental.proxy_tensor.make_fx.
 */
import { SymScalar, TesseraError, treeFlatten, treePaths, treeUnflatten } from '@tessera/shared';
import {
  type Tensor,
  isTensor,
  withDispatchMode,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor';
import { eliminateDeadCode } from './dead-code.js';
import { FakeConverter } from './fake-inputs.js';
import type { GraphModule } from './graph-module.js';
import { parameterNames } from './parameter-names.js';
import { type DecompositionTable, PreDispatchProxyMode, ProxyMode } from './proxy-modes.js';
import { TraceRecorder } from './trace-recorder.js';

/** How `makeFx` traces. */
export interface MakeFxOptions {
  /**
   * `real` computes on the given tensors; `fake` (default) only on their metadata. `symbolic`, with
   * sizes as symbols, is not available yet.
   */
  readonly tracingMode?: 'real' | 'fake' | 'symbolic';
  /** Record ops as called, composite ones included, instead of primitive ops below autograd. */
  readonly preDispatch?: boolean;
  /** Replacements of primitive ops, applied until none fits. */
  readonly decompositions?: DecompositionTable;
  /** Names of the inputs in order; by default the function's parameter names. */
  readonly inputNames?: readonly string[];
  /** Record the user's source line of every op; default true. */
  readonly stackTraces?: boolean;
}

/**
 * A function that traces `fn` on the arguments it is given.
 *
 * @throws invalid-argument for `symbolic`; graph-lint when a value cannot stand in a graph
 */
export function makeFx<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  options: MakeFxOptions = {},
): (...args: A) => GraphModule {
  const { tracingMode = 'fake' } = options;
  if (tracingMode === 'symbolic') {
    throw new TesseraError('invalid-argument', `makeFx: tracingMode 'symbolic' is not available.`, {
      hints: [`Use 'fake' (sizes are fixed to those of the example) or 'real'.`],
    });
  }
  return (...args) => trace(fn, args, options);
}

function trace<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: MakeFxOptions,
): GraphModule {
  const fake = options.tracingMode !== 'real';
  const recorder = new TraceRecorder(options.stackTraces ?? true);
  const { leaves, spec } = treeFlatten(args);
  const names =
    options.inputNames ??
    inputNames(parameterNames(fn as (...args: never[]) => unknown), treePaths(spec), leaves);
  const converter = new FakeConverter();
  let count = 0;
  const traced = leaves.map((leaf) => {
    if (!isInput(leaf)) return leaf;
    const value = fake && isTensor(leaf) ? converter.convert(leaf) : leaf;
    recorder.addInput(value, names[count] ?? `arg${count}`);
    count++;
    return value;
  });
  const run = (): unknown => fn(...(treeUnflatten(traced, spec) as unknown as A));
  const result = fake
    ? withFakeTensors(() => record(recorder, options, run))
    : record(recorder, options, run);
  recorder.graph.output(recorder.argument(result));
  eliminateDeadCode(recorder.graph);
  recorder.module.removeUnusedAttributes();
  return recorder.module;
}

function record(recorder: TraceRecorder, options: MakeFxOptions, run: () => unknown): unknown {
  if (options.preDispatch === true)
    return withPreDispatchMode(new PreDispatchProxyMode(recorder), run);
  return withDispatchMode(new ProxyMode(recorder, options.decompositions ?? new Map()), run);
}

function isInput(leaf: unknown): leaf is Tensor | SymScalar {
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
