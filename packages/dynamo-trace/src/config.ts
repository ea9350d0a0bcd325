/**
 * @file Options of the tracer.
 */
import { defineConfig, integerIn, option } from '@tessera/shared';

/** `config` section `trace`; reading a key is a plain property read. */
export const traceConfig: {
  readonly generateCode: boolean;
  readonly accumulatedRecompileLimit: number;
  readonly recompileLimit: number;
  readonly sizeLimit: number;
  readonly verify: number;
} = defineConfig('trace', {
  generateCode: option(
    true,
    'Check guards with functions made from strings, where the host lets them be made (it is asked once).',
  ),
  accumulatedRecompileLimit: option(
    64,
    'Traces kept per compiled function in all, where that is more than trace.recompileLimit.',
    integerIn(1),
  ),
  recompileLimit: option(
    8,
    'Calls that may record what follows a graph break, or the beginning of a compiled function; after that it runs eagerly, with a warning.',
    integerIn(1),
  ),
  sizeLimit: option(
    32,
    'Size tuples of dynamic shapes whose compiled code is kept, per compiled function; the oldest is dropped.',
    integerIn(1),
  ),
  verify: option(
    0,
    'Every so many skipped calls of a pure function its JavaScript runs all the same, and a difference is an error (for development); 0 for never.',
    integerIn(0),
  ),
});
