/**
 * @file Names and kinds of the options of `compile`.
 */
import { TesseraError, nearestNames } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';

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

/** Checks names and kinds of the options of `compile` and `explain`. @throws invalid-argument */
export function checkCompileOptions(options: object, what = 'compile'): void {
  const isArgument = isTensor(options);
  if (typeof options !== 'object' || options === null || isArgument)
    throw new TesseraError(
      'invalid-argument',
      `${what}(): options are an object, not ${isArgument ? 'a Tensor' : String(options)}.`,
      {
        hints: [
          isArgument
            ? `The result is what takes the arguments: ${what}(fn)(x).`
            : `Name them: ${what}(fn, { backend: 'inductor' }).`,
        ],
      },
    );
  for (const [name, value] of Object.entries(options)) {
    const kinds = KINDS[name];
    if (kinds === undefined) {
      const near = nearestNames(name, Object.keys(KINDS));
      throw new TesseraError('invalid-argument', `${what}() has no option '${name}'.`, {
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
