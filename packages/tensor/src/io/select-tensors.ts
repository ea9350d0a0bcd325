/**
 * @file Which tensors of a file are loaded: all that can be, or those that were asked for.
 */
import { TesseraError, nearestNames } from '@tessera/shared';
import { type SkippedTensor, refuseStoredType } from './stored-type.js';

/** Names of tensors, or a test of names. */
export type TensorKeys = readonly string[] | ((name: string) => boolean);

/** The test of whether a tensor of a name is asked for. */
export function chosenBy(keys: TensorKeys | undefined): (name: string) => boolean {
  if (keys === undefined) return () => true;
  if (typeof keys === 'function') return keys;
  const names = new Set(keys);
  return (name) => names.has(name);
}

/** @throws invalid-argument for a name that was asked for and is not there */
export function checkKeys(
  names: readonly string[],
  keys: TensorKeys | undefined,
  where: string,
): void {
  if (keys === undefined || typeof keys === 'function') return;
  const there = new Set(names);
  const missing = keys.find((key) => !there.has(key));
  if (missing === undefined) return;
  const near = nearestNames(missing, names);
  throw new TesseraError('invalid-argument', `There is no tensor '${missing}' in ${where}.`, {
    context: { missing, names },
    hints: [
      near.length > 0
        ? `Did you mean ${near.map((name) => `'${name}'`).join(' or ')}?`
        : `It has: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}.`,
    ],
  });
}

/**
 * Deals with a tensor that cannot be loaded: an error if it was asked for, else it is reported and left out.
 *
 * @throws dtype-unsupported
 */
export function skipTensor(
  tensor: SkippedTensor,
  keys: TensorKeys | undefined,
  onSkip: ((tensor: SkippedTensor) => void) | undefined,
): void {
  if (keys !== undefined) refuseStoredType(tensor);
  (onSkip ?? warnSkipped)(tensor);
}

/** What is done where nobody listens. */
export function warnSkipped({ name, storedType }: SkippedTensor): void {
  console.warn(
    `Tessera: tensor '${name}' was not loaded: its dtype ${storedType} is not supported. (Pass onSkip to be told instead.)`,
  );
}
