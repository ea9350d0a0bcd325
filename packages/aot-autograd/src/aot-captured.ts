/**
 * @file Compiling captured graphs: the door for the tracer, and for anyone who has a GraphModule.
 */
import { type GraphModule, Interpreter } from '@tessera/graph';
import {
  LEAF_SPEC,
  type Steps,
  type TreeSpec,
  atOnce,
  treeFlatten,
  treeUnflatten,
} from '@tessera/shared';
import { gradMode } from '@tessera/tensor/internal';
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

/** `aotCompileCaptured` with pauses. @throws aot-unsupported, graph-lint, and what the ops throw */
export function* aotCapturedSteps(
  module: GraphModule,
  examples: readonly ExampleInput[],
  options: AotCapturedOptions,
): Steps<AotCaptured> {
  let structure: TreeSpec = LEAF_SPEC;
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
