/**
 * @file Backends by name.
 */
import type { Backend } from '@tessera/dynamo-trace';
import { TesseraError, nearestNames } from '@tessera/shared';

const backends = new Map<string, Backend>();

/** Registers a backend under a name, or replaces it. */
export function registerBackend(name: string, backend: Backend): void {
  backends.set(name, backend);
}

/** Names of all registered backends. */
export function listBackends(): string[] {
  return [...backends.keys()];
}

/** The backend of a name; a function is a backend itself. @throws unknown-backend */
export function lookupBackend(backend: string | Backend): Backend {
  if (typeof backend === 'function') return backend;
  const found = backends.get(backend);
  if (found === undefined) {
    const near = nearestNames(backend, listBackends());
    throw new TesseraError(
      'unknown-backend',
      `There is no backend '${backend}'. Registered: ${listBackends().join(', ')}.`,
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
