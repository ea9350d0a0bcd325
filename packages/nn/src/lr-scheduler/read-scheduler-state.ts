/**
 * @file State dicts as a schedule is given them: its own, PyTorch's (`last_epoch`, `_last_lr`), and the flat names that
 * `loadTorchCheckpoint` makes of that and gives to `onValues` (`base_lrs.0`).
 */
import { TesseraError } from '@tessera/shared';
import { camelCase, isTree, nested } from '../optim/state-names.js';

/**
 * Any of those forms by our names, lists as arrays. What is missing is left as it is, as PyTorch's are in
 * `ChainedScheduler`.
 *
 * @param owner the class that loads it
 * @throws state-dict-mismatch
 */
export function readSchedulerState(state: unknown, owner: string): ReadonlyMap<string, unknown> {
  const read = new Map<string, unknown>();
  const given = isTree(state) ? nested(state) : {};
  for (const [name, value] of Object.entries(given))
    read.set(camelCase(name.replace(/^_/, '')), isTree(value) ? Object.values(value) : value);
  if (!read.has('lastEpoch') && !read.has('lastLr'))
    throw new TesseraError('state-dict-mismatch', `This is no state dict of ${owner}.`, {
      context: { keys: Object.keys(given) },
      hints: [
        "It has 'lastEpoch', or PyTorch's 'last_epoch'. Of a file that torch.save wrote, onValues of loadTorchCheckpoint(path, { prefix, onValues }) is given it, with the prefix that the scheduler has there.",
      ],
    });
  return read;
}

/** A number of a state that was read, or what there is. */
export function numberOr(value: unknown, own: number): number {
  return typeof value === 'number' ? value : own;
}

/** Numbers of a state that was read, one for each group, or what there is. @throws state-dict-mismatch */
export function numbersOr(value: unknown, own: readonly number[], groups: number): number[] {
  if (!Array.isArray(value)) return [...own];
  if (value.length !== groups || value.some((item) => typeof item !== 'number'))
    throw new TesseraError(
      'state-dict-mismatch',
      `The schedule was saved for ${value.length} parameter groups; the optimizer has ${groups}.`,
      { hints: ['Make the optimizer with the groups that it had.'] },
    );
  return value.map(Number);
}
