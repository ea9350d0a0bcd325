/**
 * @file Compiling captured graphs: the door for the tracer, and for anyone who has a GraphModule.
 */
import { type GraphModule, Interpreter, type Node } from '@tessera/graph';
import {
  LEAF_SPEC,
  type Steps,
  TesseraError,
  type TreeSpec,
  atOnce,
  treeFlatten,
  treeUnflatten,
} from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { gradMode, requiresGrad } from '@tessera/tensor/internal';
import { type AotCompiled, type ProgramOptions, programSteps } from './aot-compile.js';
import type { ExampleInput, InputInfo } from './joint/primals.js';

/** Options for a captured graph. */
export interface AotCapturedOptions extends ProgramOptions {
  /** Grad mode at the start of the graph; default the current one. */
  readonly gradEnabled?: boolean;
}

/** A compiled graph; `call` returns the leaves of the output in order. */
export interface AotCaptured extends AotCompiled {
  /** Structure of the graph's output. */
  readonly structure: TreeSpec;
}

/**
 * Compiles a graph of ops as a program called them: composites, views, in-place ops,
 * `tessera::autograd_grad` for a `backward()` and `setGradEnabled` nodes may occur.
 *
 * @param examples one value per placeholder: a tensor (only its metadata and aliasing matter) or a number
 * @throws aot-unsupported, graph-lint, and what the ops throw
 */
export function aotCompileCaptured(
  module: GraphModule,
  examples: readonly ExampleInput[],
  options: AotCapturedOptions,
): AotCaptured {
  return atOnce(aotCapturedSteps(module, examples, options));
}

/** A view that only a write in the program gives the history of its base: here no input leads to another one. */
function rejectGaining(example: ExampleInput, { name, meta }: Node): void {
  if (!isTensor(example) || example.requiresGradFlag || !requiresGrad(example)) return;
  const isWritten = isTensor(meta.val) && meta.val.storage.version !== 0;
  // Of others such a history cannot be read.
  if (!isWritten || example.madeAs !== null) return;
  throw new TesseraError(
    'aot-unsupported',
    `Input '${name}' is a view that was made before its base took gradients, and their memory is written to.`,
    { hints: ['Make the view after requiresGrad_().'] },
  );
}

/** `aotCompileCaptured` with pauses. @throws aot-unsupported, graph-lint, and what the ops throw */
export function* aotCapturedSteps(
  module: GraphModule,
  examples: readonly ExampleInput[],
  options: AotCapturedOptions,
): Steps<AotCaptured> {
  let structure: TreeSpec = LEAF_SPEC;
  module.graph.placeholders.forEach((node, i) => rejectGaining(examples[i]!, node));
  const infos = module.graph.placeholders.map((node): InputInfo => ({
    name: node.name,
    scalarKind: node.meta.scalar?.kind,
    source: node.meta.source,
  }));
  const run = function* (inputs: readonly unknown[]): Steps<readonly unknown[]> {
    const { leaves, spec } = treeFlatten(yield* new Interpreter(module).steps(...inputs));
    structure = spec;
    return leaves;
  };
  const gradEnabled = options.gradEnabled ?? gradMode.enabled;
  const compiled = yield* programSteps({ run, examples, infos, gradEnabled }, options);
  return { ...compiled, structure };
}

/**
 * `aotCompileCaptured` as a function that is called like the module: spread inputs, results in the
 * structure of the graph's output.
 *
 * @see functorch's aot_module_simplified
 */
export function aotModuleSimplified(
  module: GraphModule,
  examples: readonly ExampleInput[],
  options: AotCapturedOptions,
): (...inputs: readonly unknown[]) => unknown {
  const { call, structure } = aotCompileCaptured(module, examples, options);
  return (...inputs) => treeUnflatten(call(inputs), structure);
}
