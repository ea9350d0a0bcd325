/**
 * @file Options that a module does not have are errors.
 */
import { checkOptionNames } from '@tessera/shared';

/** A class and the names of its constructor's options. */
export interface WithOptions {
  readonly name: string;
  readonly optionNames: Readonly<Record<string, true>>;
}

/** @throws invalid-argument unless `options` is an object with no other than the class's options */
export function checkOptions({ name, optionNames }: WithOptions, options: unknown): void {
  checkOptionNames(name, options, optionNames);
}
