/**
 * @file The `options` of `compile`: configuration that holds while one function's graphs are compiled.
 *
 * A backend may compile when the segment first runs (freezing, the backward graph), so the configuration
 * also holds while it runs.
 */
import type { Backend } from '@tessera/dynamo-trace';
import { type ConfigValues, TesseraError, config, nearestNames } from '@tessera/shared';

/** What each option of `compile` may be. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  backend: ['string', 'function'],
  fullgraph: ['boolean'],
  pure: ['boolean'],
  captures: ['function'],
  dynamic: ['boolean'],
  mode: ['string'],
  options: ['object'],
  guardFailFn: ['function'],
};

/** Checks names and kinds of the options of `compile`. @throws invalid-argument */
export function checkCompileOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const kinds = KINDS[name];
    if (kinds === undefined) {
      const near = nearestNames(name, Object.keys(KINDS));
      throw new TesseraError('invalid-argument', `compile() has no option '${name}'.`, {
        context: { option: name },
        hints: [
          near.length > 0
            ? `Did you mean '${near[0]}'?`
            : `Its options are: ${Object.keys(KINDS).join(', ')}.`,
        ],
      });
    }
    // An unknown backend has an error of its own.
    if (value === undefined || name === 'backend' || kinds.includes(typeof value)) continue;
    throw new TesseraError(
      'invalid-argument',
      `compile(): option '${name}' must be a ${kinds.join(' or ')}, not ${String(value)}.`,
      { context: { option: name, value }, hints: ['Leave it out for the default.'] },
    );
  }
}

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
