/**
 * @file `ProcessGroup`: some of the ranks of a job, under a name that graphs can hold.
 *
 * The default group, `world`, is made by `initProcessGroup()`. Graphs refer to groups by name, so that they stay
 * data.
 */
import { TesseraError } from '@tessera/shared';
import type { Communicator } from './communicator.js';

/** The name of the group of all ranks. */
export const WORLD = 'world';

const groups = new Map<string, ProcessGroup>();

/** See the file header. */
export class ProcessGroup {
  constructor(
    readonly name: string,
    /** Ranks of the world, in the order of this group's. */
    readonly ranks: readonly number[],
    readonly communicator: Communicator,
  ) {}

  /** This process among the group's. */
  get rank(): number {
    return this.communicator.rank;
  }

  get size(): number {
    return this.communicator.size;
  }
}

/** Makes a group known under its name. */
export function registerGroup(group: ProcessGroup): ProcessGroup {
  groups.set(group.name, group);
  return group;
}

/** The groups of this process, in the order in which they were made. */
export function registeredGroups(): readonly ProcessGroup[] {
  return [...groups.values()];
}

/** Forgets a group. */
export function forgetGroup(name: string): void {
  groups.delete(name);
}

/** Whether `initProcessGroup()` has run. */
export function isInitialized(): boolean {
  return groups.has(WORLD);
}

/** The group of a name; the default one without. @throws distributed-unavailable */
export function groupNamed(name: string = WORLD): ProcessGroup {
  const group = groups.get(name);
  if (group !== undefined) return group;
  throw new TesseraError(
    'distributed-unavailable',
    name === WORLD
      ? 'The default process group has not been initialized.'
      : `There is no process group '${name}' in this process.`,
    {
      hints: [
        name === WORLD
          ? 'Call await initProcessGroup() first.'
          : 'Make it with newGroup() on every rank before a graph that names it runs.',
      ],
    },
  );
}
