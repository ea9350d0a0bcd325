/**
 * @file `makeFx`: traces a function into a GraphModule by running it.
 *
 * The operators that run become nodes: primitive ones below autograd, or with `preDispatch` those that
 * were called. JavaScript control flow and plain numbers are frozen as they were. Tensors and
 * `SymScalar`s among the arguments (nested ones too) become placeholders, in order; tensors from
 * elsewhere become constants. Modelled on torch.fx.experimental.proxy_tensor.make_fx.
 */
import { TesseraError, checkFunction, treeFlatten } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import type { GraphModule } from '../ir/graph-module.js';
import { numbersIn } from '../symbolic/explore-sizes.js';
import type { SizedInput } from '../symbolic/sized-inputs.js';
import { type DeclaredSize, traceSizes } from '../symbolic/trace-sizes.js';
import {
  type TraceFunctionOptions,
  isInput,
  namesOf,
  traceFunction,
  traceOnFakes,
} from './trace-function.js';

/** How `makeFx` traces. */
export interface MakeFxOptions extends TraceFunctionOptions {
  /**
   * `real` computes on the given tensors; `fake` (default) only on their metadata, so the graph is for
   * these sizes. `symbolic` traces at several sizes and gives a graph whose sizes from 2 on are symbols,
   * those that are equal in the example one symbol; it runs at all sizes that its guards allow.
   */
  readonly tracingMode?: 'real' | 'fake' | 'symbolic';
}

/**
 * A function that traces `fn` on the arguments it is given.
 *
 * @throws graph-lint when a value cannot stand in a graph, invalid-argument for what is no function or mode
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
  return (...args) => {
    if (tracingMode === 'symbolic') return traceSymbolic(fn, args, options);
    if (tracingMode === 'fake') return traceOnFakes(fn, args, options);
    return traceFunction(fn, args, options, null);
  };
}

const TRACING_MODES: readonly string[] = ['real', 'fake', 'symbolic'];

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
      const module = traceFunction(fn, args, options, (tensor) => fakes[tensors.indexOf(tensor)]!);
      return { module, placeholders };
    },
  });
  return traced.trace.module;
}
