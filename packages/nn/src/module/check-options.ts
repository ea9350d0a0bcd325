/**
 * @file Options that a module does not have are errors, and so are words that an option does not know.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';

/** A class and the names of its constructor's options. */
export interface WithOptions {
  readonly name: string;
  readonly optionNames: Readonly<Record<string, true>>;
}

/** @throws invalid-argument unless `options` is an object with no other than the class's options */
export function checkOptions({ name, optionNames }: WithOptions, options: unknown): void {
  checkOptionNames(name, options, optionNames);
}

/** @throws invalid-argument unless `value` is one of `choices`; `owner` is the function or class */
export function checkChoice(
  owner: string,
  option: string,
  value: string,
  choices: readonly string[],
): void {
  if (choices.includes(value)) return;
  throw new TesseraError('invalid-argument', `${owner}: ${option} may not be '${value}'.`, {
    context: { option, value },
    hints: [`It is one of ${choices.map((choice) => `'${choice}'`).join(', ')}.`],
  });
}

/** @throws invalid-argument unless the arguments `numbers` of a class, by name in order, are numbers */
export function checkNumbers(
  { name }: { readonly name: string },
  numbers: Readonly<Record<string, unknown>>,
): void {
  const names = Object.keys(numbers);
  const wrong = names.find((argument) => typeof numbers[argument] !== 'number');
  if (wrong === undefined) return;
  throw new TesseraError('invalid-argument', `${name}: ${wrong} must be a number.`, {
    context: { argument: wrong },
    hints: [`Numbers are given by position: new ${name}(${names.join(', ')}).`],
  });
}
