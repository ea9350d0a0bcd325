/**
 * @file The `options` of `compile`: configuration that holds while one function's graphs are compiled.
 *
 * A backend may compile when the segment first runs (freezing, the backward graph), so the configuration
 * also holds while it runs.
 */
import type { Backend } from '@tessera/dynamo-trace';
import { type ConfigValues, config } from '@tessera/shared';

/** The backend under the options; itself without any. @throws unknown-config-key, invalid-config-value */
export function withOptions(backend: Backend, options: ConfigValues = {}): Backend {
  if (Object.keys(options).length === 0) return backend;
  // Says now what is wrong with them, not at the first call.
  config.patch(options, () => {});
  return (module, examples, ...rest) => {
    const segment = config.patch(options, () => backend(module, examples, ...rest));
    return (inputs) => config.patch(options, () => segment(inputs));
  };
}
