/**
 * @file `makeFx`: traces a function into a GraphModule by running it.
 *
 * The operators that run become nodes: primitive ones below autograd, or with `preDispatch` those that
 * were called. JavaScript control flow and plain numbers are frozen as they were. Tensors and
 * `SymScalar`s among the arguments (nested ones too) become placeholders, in order; tensors from
 * elsewhere become constants. Modelled on torch.fx.experimental.proxy_tensor.make_fx.
 */
import {
  SymScalar,
  TesseraError,
  checkFunction,
  treeFlatten,
  treePaths,
  treeUnflatten,
} from '@tessera/shared';
import { type Tensor, isTensor, withDispatchMode } from '@tessera/tensor';
import { withFakeTensors, withPreDispatchMode } from '@tessera/tensor/internal';
import { eliminateDeadCode } from './dead-code.js';
import { FakeConverter } from './fake-inputs.js';
import type { GraphModule } from './graph-module.js';
import { parameterNames } from './parameter-names.js';
import { type DecompositionTable, PreDispatchProxyMode, ProxyMode } from './proxy-modes.js';
import { numbersIn } from './symbolic/explore-sizes.js';
import type { SizedInput } from './symbolic/sized-inputs.js';
import { type DeclaredSize, traceSizes } from './symbolic/trace-sizes.js';
import { TraceRecorder } from './trace-recorder.js';

/** How `makeFx` traces. */
export interface MakeFxOptions {
  /**
   * `real` computes on the given tensors; `fake` (default) only on their metadata, so the graph is for
   * these sizes. `symbolic` traces at several sizes and gives a graph whose sizes from 2 on are symbols,
   * those that are equal in the example one symbol; it runs at all sizes that its guards allow.
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
 * @throws graph-lint when a value cannot stand in a graph
 */
export function makeFx<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  options: MakeFxOptions = {},
): (...args: A) => GraphModule {
  checkFunction('makeFx', fn);
  const { tracingMode = 'fake' } = options;
  if (!TRACING_MODES.includes(tracingMode)) {
    throw new TesseraError(
      'invalid-argument',
      `makeFx: tracingMode must be one of ${TRACING_MODES.join(', ')}, not '${String(tracingMode)}'.`,
      { hints: ["Leave it out for 'fake': nothing is computed."] },
    );
  }
  return (...args) =>
    options.tracingMode === 'symbolic'
      ? traceSymbolic(fn, args, options)
      : trace(fn, args, options, fakeInputs(options.tracingMode !== 'real'));
}

const TRACING_MODES: readonly string[] = ['real', 'fake', 'symbolic'];

type Convert = (tensor: Tensor) => Tensor;

function fakeInputs(fake: boolean): Convert {
  const converter = new FakeConverter();
  return (tensor) => (fake ? converter.convert(tensor) : tensor);
}

/** Traces at the sizes of the arguments and at others. */
function traceSymbolic<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: MakeFxOptions,
): GraphModule {
  const leaves = treeFlatten(args).leaves.filter(isInput);
  const tensors = [...new Set(leaves.filter(isTensor))];
  const names = namesOf(fn, args, options);
  const sizes = new Map<number, DeclaredSize>();
  const inputs = tensors.map((tensor): SizedInput => {
    const name = names[leaves.indexOf(tensor)] ?? 'arg';
    const dims = tensor.sizes.map((hint, dim) => {
      if (hint < 2) return -1;
      if (!sizes.has(hint)) {
        const source = `${name}.size()[${dim}]`;
        const open = { min: 2, max: Infinity, declared: false, bounded: false };
        sizes.set(hint, { hint, source, ...open });
      }
      return [...sizes.keys()].indexOf(hint);
    });
    return { tensor, dims };
  });
  const placeholders = leaves.map((leaf) => (isTensor(leaf) ? tensors.indexOf(leaf) : -1));
  const traced = traceSizes({
    inputs,
    sizes: [...sizes.values()],
    suspects: () => numbersIn(fn),
    trace: (fakes) => {
      const convert: Convert = (tensor) => fakes[tensors.indexOf(tensor)];
      return { module: trace(fn, args, options, convert), placeholders };
    },
  });
  return traced.trace.module;
}

function namesOf<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: MakeFxOptions,
): readonly string[] {
  const { leaves, spec } = treeFlatten(args);
  return (
    options.inputNames ??
    inputNames(parameterNames(fn as (...args: never[]) => unknown), treePaths(spec), leaves)
  );
}

function trace<A extends readonly unknown[]>(
  fn: (...args: A) => unknown,
  args: A,
  options: MakeFxOptions,
  convert: Convert,
): GraphModule {
  const fake = options.tracingMode !== 'real';
  const recorder = new TraceRecorder(options.stackTraces ?? true);
  const { leaves, spec } = treeFlatten(args);
  const names = namesOf(fn, args, options);
  let count = 0;
  const traced = leaves.map((leaf) => {
    if (!isInput(leaf)) return leaf;
    const value = isTensor(leaf) ? convert(leaf) : leaf;
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
