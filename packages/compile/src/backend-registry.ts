/**
 * @file Backends by name.
 */
import type { Backend, CompileRequest, CompiledSegment, SegmentInput } from '@tessera/dynamo-trace';
import { GraphModule } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import { TesseraError, nearestNames } from '@tessera/shared';

/**
 * What `compile` takes as a backend besides names: a function of the captured graph, which may also return
 * a graph to run, or an object that has one (`CompileCounter`).
 */
export type BackendLike =
  | ((
      graphModule: GraphModule<readonly Tensor[]>,
      exampleInputs: readonly SegmentInput[],
      request?: CompileRequest,
    ) => CompiledSegment | GraphModule)
  | { readonly backend: Backend };

const backends = new Map<string, Backend>();

/** Registers a backend under a name, or replaces it. @throws invalid-argument */
export function registerBackend(name: string, backend: Backend): void {
  if (typeof name !== 'string' || name === '' || typeof backend !== 'function') {
    throw new TesseraError(
      'invalid-argument',
      `registerBackend() takes a name and a function, not '${String(name)}' and ${typeof backend}.`,
      { hints: ["registerBackend('mine', (graphModule, exampleInputs) => (inputs) => outputs)"] },
    );
  }
  backends.set(name, backend);
}

/** Names of all registered backends. */
export function listBackends(): string[] {
  return [...backends.keys()];
}

/** The backend of a name; a function is a backend itself. @throws unknown-backend */
export function lookupBackend(backend: string | BackendLike): Backend {
  if (typeof backend === 'function') return running(backend);
  const found = typeof backend === 'object' ? backend?.backend : backends.get(backend);
  if (typeof found !== 'function') {
    const near = nearestNames(String(backend), listBackends());
    throw new TesseraError(
      'unknown-backend',
      `There is no backend '${String(backend)}'. Registered: ${listBackends().join(', ')}.`,
      {
        context: { backend, registered: listBackends() },
        hints:
          near.length > 0
            ? [`Did you mean '${near[0]}'?`]
            : ["Pass a function, or register one with registerBackend('name', backend)."],
      },
    );
  }
  return found;
}

/** Runs the graph that a backend returned instead of code. */
function running(backend: Exclude<BackendLike, { readonly backend: Backend }>): Backend {
  return (module, examples, request) => {
    const result = backend(module, examples, request);
    if (!(result instanceof GraphModule)) return result;
    return (inputs) => [result.forward(...inputs)].flat() as Tensor[];
  };
}
