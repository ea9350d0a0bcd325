/**
 * @file Reads values of JSON files that others wrote: each is checked and copied, with the fields that are known and no
 * others. What is wrong is said with the place where it is.
 */

/** Checks a value and returns it. @throws PlainDataError */
export type Reader<T> = (value: unknown, at: string) => T;

/** A value is not what it should be. */
export class PlainDataError extends Error {
  override readonly name = 'PlainDataError';
}

function fail(at: string, wanted: string): never {
  throw new PlainDataError(`${at || 'the file'} should be ${wanted}`);
}

/** A string. */
export const text: Reader<string> = (value, at) =>
  typeof value === 'string' ? value : fail(at, 'a string');

/** A number that is neither negative nor without end. */
export const amount: Reader<number> = (value, at) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? value
    : fail(at, 'a number that is not negative');

/** One value. */
export function exactly<T extends string | number>(wanted: T): Reader<T> {
  return (value, at) => (value === wanted ? wanted : fail(at, JSON.stringify(wanted)));
}

/** What `read` reads, or null. */
export function orNull<T>(read: Reader<T>): Reader<T | null> {
  return (value, at) => (value === null ? null : read(value, at));
}

/** What `read` reads; `otherwise` where there is nothing. */
export function optional<T>(read: Reader<T>, otherwise: T): Reader<T> {
  return (value, at) => (value === undefined ? otherwise : read(value, at));
}

/** An array of what `read` reads. */
export function list<T>(read: Reader<T>): Reader<readonly T[]> {
  return (value, at) =>
    Array.isArray(value) ? value.map((item, i) => read(item, `${at}[${i}]`)) : fail(at, 'an array');
}

/** An object with a reader for each field. */
export function record<T extends object>(fields: {
  readonly [K in keyof T]: Reader<T[K]>;
}): Reader<T> {
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(at, 'an object');
    const given = new Map(Object.entries(value));
    const entries = Object.entries<Reader<unknown>>(fields).map(([key, read]) => [
      key,
      read(given.get(key), at === '' ? key : `${at}.${key}`),
    ]);
    return Object.fromEntries(entries) as T;
  };
}
