/**
 * @file Options that nobody has are errors: a misspelt `requires_grad: true` must not be ignored. Functions take
 * optional values in an object, last, so a value in the place of that object is one by position, and the error
 * spells the call that was meant. A check of a call without options allocates nothing.
 */
import { TesseraError } from './errors.js';
import { nearestNames } from './nearest-names.js';

/** The names of the options `O`, each once, in the order of PyTorch's positional parameters. */
export type OptionNames<O> = Readonly<Record<keyof O, true>>;

/** How a value reads in the call that an error proposes. */
function written(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  return typeof value === 'object' || typeof value === 'function' ? '…' : String(value);
}

/** What a value that is no object of options is called. */
function described(value: unknown): string {
  if (typeof value !== 'object' || value === null) return written(value);
  return Array.isArray(value) ? 'an array' : `a ${value.constructor?.name ?? 'class'}`;
}

function refusePositional(owner: string, value: unknown, known: readonly string[]): never {
  const call = /^[A-Z]/.test(owner) ? `new ${owner}` : owner;
  const isWord = /^\w+$/.test(owner);
  const example = !isWord
    ? `Name them: { ${known[0]}: ${written(value)} }.`
    : typeof value === 'number' && known[0] === 'keepdim'
      ? `Several dimensions are a list: ${owner}([…, ${value}]).`
      : `Write ${call}(…, { ${known[0]}: ${written(value)} }).`;
  throw new TesseraError(
    'invalid-argument',
    `${owner}: options are an object, not ${value === null ? 'null' : described(value)}.`,
    { hints: [example, `Its options are: ${known.join(', ')}.`] },
  );
}

/** Whether an object is an instance of a class, as a tensor in the place of options is. */
function isInstance(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/**
 * Checks that `options` is absent or an object with no other than the names that `known` has. `owner` is the
 * function or class. `isOwn` says which names the caller may choose, as long as they are near to none that is known.
 *
 * @throws invalid-argument
 * @example
 *   argmax(-1, true) // argmax: options are an object, not true. Write argmax(…, { keepdim: true }).
 */
export function checkOptionNames(
  owner: string,
  options: unknown,
  known: object,
  isOwn?: (name: string) => boolean,
): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    refusePositional(owner, options, Object.keys(known));
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    if (isInstance(options)) refusePositional(owner, options, names);
    const [near] = nearestNames(name, names);
    if (near === undefined && isOwn?.(name)) continue;
    throw new TesseraError('invalid-argument', `${owner} has no option '${name}'.`, {
      context: { option: name, known: names },
      hints: [
        near === undefined ? `Its options are: ${names.join(', ')}.` : `Did you mean '${near}'?`,
      ],
    });
  }
}
