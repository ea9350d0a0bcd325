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

/** @throws invalid-argument saying how many arguments the constructor of a class takes, and was given */
export function refuseArguments(name: string, taken: number, given: number): never {
  throw new TesseraError(
    'invalid-argument',
    `${name}: expected at most ${taken} arguments, got ${given}.`,
    { hints: ['Leave the others out.'] },
  );
}

/**
 * What a constructor is given, by name: one object, or values in the order of `names`, behind which an object may name others.
 *
 * @throws invalid-argument for names that the class does not have, values behind an object, and a value that is given both ways
 */
export function argumentsByName<O extends object>(
  type: WithOptions,
  names: readonly (keyof O & string)[],
  given: readonly unknown[],
): O {
  if (typeof given[0] === 'object') {
    if (given.length > 1) refuseArguments(type.name, 1, given.length);
    checkOptions(type, given[0]);
    return given[0] as O;
  }
  const others: object = given[names.length] ?? {};
  checkOptions(type, others);
  const twice = names.find((name) => name in others);
  if (twice !== undefined)
    throw new TesseraError('invalid-argument', `${type.name}: ${twice} is given twice.`, {
      hints: ['Give it by position or by name.'],
    });
  return { ...Object.fromEntries(names.map((name, i) => [name, given[i]])), ...others } as O;
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

/** What the arguments of a class, by name in order, have to be, and how its call is written; `given` if it has no others. */
function checkEach(
  { name }: { readonly name: string },
  values: Readonly<Record<string, unknown>>,
  is: (value: unknown) => boolean,
  expected: string,
  how: string,
  given: ArrayLike<unknown> = [],
): void {
  const names = Object.keys(values);
  if (given.length > names.length) refuseArguments(name, names.length, given.length);
  const wrong = names.find((argument) => !is(values[argument]));
  if (wrong === undefined) return;
  throw new TesseraError('invalid-argument', `${name}: ${wrong} must be ${expected}.`, {
    context: { argument: wrong },
    hints: [`${how}: new ${name}(${names.join(', ')}).`],
  });
}

const isNumber = (value: unknown): boolean => typeof value === 'number';

/**
 * Arguments that have no default: each a number, or a list of numbers, in which null stands for what an input has.
 * `given` are the arguments of the constructor, if it has no others.
 *
 * @throws invalid-argument for others
 */
export function checkSizes(
  type: { readonly name: string },
  sizes: Readonly<Record<string, unknown>>,
  given?: ArrayLike<unknown>,
): void {
  const isSize = (value: unknown): boolean => value === null || isNumber(value);
  checkEach(
    type,
    sizes,
    (value) => isNumber(value) || (Array.isArray(value) && value.every(isSize)),
    'a number or a list of numbers',
    'It is required',
    given,
  );
}

/** @throws invalid-argument unless the arguments `shapes` of a class, by name in order, are lists of numbers */
export function checkShapes(
  type: { readonly name: string },
  shapes: Readonly<Record<string, unknown>>,
): void {
  const isShape = (value: unknown): boolean => Array.isArray(value) && value.every(isNumber);
  checkEach(type, shapes, isShape, 'a list of numbers', 'It is required');
}

/**
 * Arguments by name in order; `given` are the constructor's, if it has no others.
 *
 * @throws invalid-argument unless each is a number, and there are no more
 */
export function checkNumbers(
  type: { readonly name: string },
  numbers: Readonly<Record<string, unknown>>,
  given?: ArrayLike<unknown>,
): void {
  checkEach(type, numbers, isNumber, 'a number', 'Numbers are given by position', given);
}
