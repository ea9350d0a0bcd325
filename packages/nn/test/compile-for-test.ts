/**
 * @file Compiling with a backend that interprets the captured graph.
 */
import { CompiledFunction, type TraceOptions } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';

/** A compiled function and what its backend was given. */
export interface CompiledForTest<A extends unknown[], R> {
  readonly call: (...args: A) => R;
  readonly function: CompiledFunction;
  readonly graphs: GraphModule[];
}

/** Compiles `fn`; the backend keeps its graphs and runs them op by op. */
export function compileForTest<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: Partial<TraceOptions> = {},
): CompiledForTest<A, R> {
  const graphs: GraphModule[] = [];
  const compiled = new CompiledFunction(fn, {
    backend: (module) => {
      module.lint();
      graphs.push(module);
      return (inputs) => module.forward(...inputs) as Tensor[];
    },
    ...options,
  });
  return { call: (...args) => compiled.call(undefined, args) as R, function: compiled, graphs };
}
