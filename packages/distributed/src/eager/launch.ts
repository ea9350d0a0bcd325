/**
 * @file Starting a collective on tensors, in the order of the calls.
 */
import { type OptionNames, TesseraError, checkOptionNames, isTesseraError } from '@tessera/shared';
import type { Pending } from '../communicator.js';
import type { HostBuffer } from '../host-buffer.js';
import { ProcessGroup, groupNamed } from '../process-group.js';
import type { StagedTensor } from './staged-tensor.js';
import { Work } from './work.js';

/** Options of every eager collective. */
export interface CollectiveOptions {
  /** Default: all processes. */
  readonly group?: ProcessGroup | undefined;
  /** Returns a `Work` at once instead of a promise. */
  readonly async?: boolean | undefined;
}

/** The names of those options. */
export const COLLECTIVE: OptionNames<CollectiveOptions> = { group: true, async: true };

/** What an eager collective returns. */
export type Started<O extends CollectiveOptions> = O extends { readonly async: true }
  ? Work
  : Promise<void>;

/** The last operation of a group that still waits for tensors of another device. */
const tails = new WeakMap<ProcessGroup, Promise<unknown>>();

/**
 * The group that options name; `known` are the options that there are.
 *
 * @throws distributed-unavailable; invalid-argument for other options, and for `null`, which newGroup() returns to outsiders
 */
export function groupOf<O extends { readonly group?: ProcessGroup | undefined }>(
  name: string,
  options: O | undefined,
  known: OptionNames<O>,
): ProcessGroup {
  checkOptionNames(name, options, known);
  const group = options?.group;
  if (group === null)
    throw new TesseraError('invalid-argument', `${name}: this process is not in the group.`, {
      hints: [
        'newGroup() returns null on ranks that are not listed: call the collective only on the others.',
      ],
    });
  if (group !== undefined && !(group instanceof ProcessGroup))
    throw new TesseraError('invalid-argument', `${name}: ${String(group)} is no process group.`, {
      hints: ['Pass what newGroup() returned, or leave it out for all processes.'],
    });
  return group ?? groupNamed();
}

/** The place of a rank of the world in a group. @throws invalid-argument */
export function rankIn(name: string, group: ProcessGroup, rank: number, what: string): number {
  const place = group.ranks.indexOf(rank);
  if (place >= 0) return place;
  throw new TesseraError(
    'invalid-argument',
    `${name}: ${what} ${rank} is not in group '${group.name}', which has ranks ${group.ranks.join(', ')}.`,
    { hints: [`${what} is a rank of all processes, not of the group.`] },
  );
}

/** Starts once the tensors are in CPU memory and everything before it in the group has started. */
export function launch(
  group: ProcessGroup,
  staged: readonly StagedTensor[],
  start: (buffers: readonly HostBuffer[]) => Pending,
): Work {
  const store = (): void => {
    for (const tensor of staged) tensor.store();
    for (const tensor of staged) tensor.release();
  };
  const begin = (): Pending => start(staged.map((tensor) => tensor.buffer()));
  const tail = tails.get(group);
  if (tail === undefined && staged.every(({ ready }) => ready === null))
    return releasing(new Work(begin(), store), staged);
  const begun = Promise.all([tail, ...staged.map(({ ready }) => ready)]).then(begin);
  // What comes later waits for the start only; a failure is this operation's.
  const next = begun
    .catch(() => undefined)
    .then(() => {
      if (tails.get(group) === next) tails.delete(group);
    });
  tails.set(group, next);
  return releasing(new Work(begun, store), staged);
}

/** Lets the memory go also where nothing was sent; what timed out may still be written to. */
function releasing(work: Work, staged: readonly StagedTensor[]): Work {
  work.wait().catch((error: unknown) => {
    if (isTesseraError(error, 'distributed-timeout')) return;
    for (const tensor of staged) tensor.release();
  });
  return work;
}

/** The `Work`, or its promise. */
export function started<O extends CollectiveOptions>(
  work: Work,
  options: O | undefined,
): Started<O>;
export function started(work: Work, options: CollectiveOptions | undefined): Work | Promise<void> {
  return options?.async === true ? work : work.wait();
}
