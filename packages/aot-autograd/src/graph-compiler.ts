/**
 * @file What AOT autograd asks of a compiler.
 */
import type { GraphModule } from '@tessera/graph';
import type { Steps } from '@tessera/shared';

/**
 * A compiled graph: values of the placeholders in, values of the output list out. Tensors are real, run-
 * time scalars are numbers. Updates of inputs (`aten::copy_`) are applied. Returned tensors are new.
 */
export interface CompiledGraph {
  (inputs: readonly unknown[]): readonly unknown[];
  /**
   * Whether the result at a position has memory that the call made for it alone and that nobody else holds, so that
   * the library may release it. Left out: of none.
   */
  readonly isFresh?: (position: number) => boolean;
  /**
   * The same program for inputs of other sizes, if it is known to be the same code: `sizes` is what the caller knows of
   * the sizes, as it told the compiler; null if nothing is known. No inputs where another graph of the same program,
   * which is known, makes them.
   */
  readonly forSizes?:
    | ((sizes: readonly number[], inputs: readonly unknown[] | null) => SizedGraph | null)
    | undefined;
}

/** A compiled graph at other sizes; what it gives is as fresh. */
export type SizedGraph = (inputs: readonly unknown[]) => readonly unknown[];

/** Compiles a functional graph; `exampleInputs` are the placeholders' FakeTensors and scalars. */
export interface GraphCompiler {
  (module: GraphModule, exampleInputs: readonly unknown[]): CompiledGraph;
  /** The same with pauses; a compiler without it makes none. */
  readonly steps?: (module: GraphModule, exampleInputs: readonly unknown[]) => Steps<CompiledGraph>;
}

/** Compiles with the pauses that the compiler makes. */
export function* compileSteps(
  compiler: GraphCompiler,
  module: GraphModule,
  examples: readonly unknown[] = exampleInputs(module),
): Steps<CompiledGraph> {
  return compiler.steps === undefined
    ? compiler(module, examples)
    : yield* compiler.steps(module, examples);
}

/** The compiler that only runs the graph, op by op: the `aot_eager` backend. */
export function runEagerly(module: GraphModule): CompiledGraph {
  return (inputs) => module.forward(...inputs) as readonly unknown[];
}

/** Examples for a compiler. */
export function exampleInputs(module: GraphModule): unknown[] {
  return module.graph.placeholders.map((node) => node.meta.val);
}
