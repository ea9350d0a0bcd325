/**
 * @file Options that a module does not have are errors: a misspelt `biass: false` must not be ignored.
 */
import { TesseraError, nearestNames } from '@tessera/shared';

/** A class and the names of its constructor's options. */
export interface WithOptions {
  readonly name: string;
  readonly optionNames: Readonly<Record<string, true>>;
}

/** @throws invalid-argument unless `options` is an object with no other than the class's options */
export function checkOptions({ name, optionNames }: WithOptions, options: unknown): void {
  const known = Object.keys(optionNames);
  const listed = `Its options are: ${known.join(', ')}.`;
  if (typeof options !== 'object' || options === null)
    throw new TesseraError(
      'invalid-argument',
      `${name}: options are an object, not ${String(options)}.`,
      { hints: [`Name them: new ${name}(…, { ${known[0]}: … }).`, listed] },
    );
  const unknown = Object.keys(options).find((option) => !(option in optionNames));
  if (unknown === undefined) return;
  const [near] = nearestNames(unknown, known);
  throw new TesseraError('invalid-argument', `${name} has no option '${unknown}'.`, {
    context: { option: unknown, known },
    hints: [near === undefined ? listed : `Did you mean '${near}'?`],
  });
}
