/**
 * @file Options that nobody has are errors: a misspelt `requires_grad: true` must not be ignored.
 */
import { TesseraError } from './errors.js';
import { nearestNames } from './nearest-names.js';

/**
 * Checks that `options` is an object with no other than the `known` names. `owner` is the function or class.
 *
 * @throws invalid-argument
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  const listed = `Its options are: ${known.join(', ')}.`;
  if (typeof options !== 'object' || options === null)
    throw new TesseraError(
      'invalid-argument',
      `${owner}: options are an object, not ${String(options)}.`,
      { hints: [`Name them: { ${known[0]}: … }.`, listed] },
    );
  for (const name in options) {
    if (known.includes(name)) continue;
    const [near] = nearestNames(name, known);
    throw new TesseraError('invalid-argument', `${owner} has no option '${name}'.`, {
      context: { option: name, known },
      hints: [near === undefined ? listed : `Did you mean '${near}'?`],
    });
  }
}
