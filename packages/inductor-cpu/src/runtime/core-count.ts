/**
 * @file How many cores this process may use.
 */
import { nodeBuiltin } from '@tessera/shared';

interface OsModule {
  availableParallelism(): number;
}

const {
  navigator,
}: {
  readonly navigator?: { readonly hardwareConcurrency?: number };
} = globalThis;

/** Cores this process may use. */
export function coreCount(): number {
  const os = nodeBuiltin<OsModule>('node:os');
  return os?.availableParallelism() ?? navigator?.hardwareConcurrency ?? 1;
}
