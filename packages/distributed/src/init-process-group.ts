/**
 * @file Making and ending process groups.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import type { Communicator } from './communicator.js';
import { distributedConfig } from './distributed-config.js';
import { hostProcess, koffiPath } from './mpi/host.js';
import { mpiCommunicator } from './mpi/mpi-communicator.js';
import {
  ProcessGroup,
  WORLD,
  forgetGroup,
  groupNamed,
  isInitialized,
  registerGroup,
  registeredGroups,
} from './process-group.js';
import { soloCommunicator } from './solo-communicator.js';

/** Options of `initProcessGroup`. */
export interface InitProcessGroupOptions {
  /** `mpi` (the default), `solo` for a group of one without MPI, or a communicator of your own. */
  readonly backend?: 'mpi' | 'solo' | Communicator | undefined;
  /** How long a collective over MPI waits for other ranks, in milliseconds (default: `config.distributed.timeout`, 30 min). */
  readonly timeout?: number | undefined;
}

/** Groups made by `newGroup()` so far: the same number on every rank. */
let made = 0;

function rankList(count: number): number[] {
  return Array.from({ length: count }, (_, rank) => rank);
}

/**
 * Joins this process with the others that `mpirun` started. Every one of them calls it.
 *
 * @throws distributed-unavailable without MPI or koffi; distributed-timeout; invalid-argument
 * @example
 * await initProcessGroup(); // mpirun -n 4 node train.js
 * @see torch.distributed.init_process_group
 */
export async function initProcessGroup(
  options: InitProcessGroupOptions = {},
): Promise<ProcessGroup> {
  checkOptionNames('initProcessGroup', options, { backend: true, timeout: true });
  const { backend = 'mpi', timeout = distributedConfig.timeout } = options;
  if (isInitialized())
    throw new TesseraError(
      'invalid-argument',
      'The default process group is already initialized.',
      {
        hints: ['Call destroyProcessGroup() first.'],
      },
    );
  if (!(timeout > 0))
    throw new TesseraError(
      'invalid-argument',
      `initProcessGroup: timeout must be a positive number of milliseconds, got ${timeout}.`,
    );
  const communicator = await communicatorOf(backend, timeout);
  made = 0;
  return registerGroup(new ProcessGroup(WORLD, rankList(communicator.size), communicator));
}

function communicatorOf(
  backend: 'mpi' | 'solo' | Communicator,
  timeout: number,
): Communicator | Promise<Communicator> {
  if (typeof backend === 'object') return backend;
  if (backend === 'solo') return soloCommunicator();
  if (backend === 'mpi') return mpiCommunicator(timeout);
  throw new TesseraError(
    'invalid-argument',
    `initProcessGroup: there is no backend '${String(backend)}'.`,
    { hints: ["Backends: 'mpi', 'solo', or an object that is a Communicator."] },
  );
}

/**
 * A group of some of the ranks, in ascending order; null on the others. Every process calls it, with the same ranks.
 *
 * @throws distributed-unavailable, invalid-argument; distributed-mismatch
 * @see torch.distributed.new_group
 */
export async function newGroup(
  ranks: readonly number[] = groupNamed().ranks,
): Promise<ProcessGroup | null> {
  const world = groupNamed();
  const sorted = [ranks].flat().sort((a, b) => a - b);
  const isGood =
    Array.isArray(ranks) &&
    sorted.length > 0 &&
    sorted.every(
      (rank, i) =>
        Number.isInteger(rank) && rank >= 0 && rank < world.size && rank !== sorted[i - 1],
    );
  if (!isGood)
    throw new TesseraError(
      'invalid-argument',
      `newGroup: expected different ranks from 0 to ${world.size - 1}, got [${[ranks].flat().join(', ')}].`,
    );
  const name = `group-${++made}`;
  const communicator = await world.communicator.split(sorted);
  return communicator === null ? null : registerGroup(new ProcessGroup(name, sorted, communicator));
}

/**
 * Ends a group, or all of them: waits for the other ranks, then nothing may be called any more.
 *
 * @throws distributed-unavailable; distributed-mismatch, distributed-timeout
 * @see torch.distributed.destroy_process_group
 */
export async function destroyProcessGroup(group: ProcessGroup = groupNamed()): Promise<void> {
  const ending =
    group.name === WORLD ? registeredGroups().filter(({ name }) => name !== WORLD) : [];
  for (const one of [...ending, group]) {
    forgetGroup(one.name);
    await one.communicator.close();
  }
}

/** This process among all of them, or among those of a group; -1 for a group that it is not in. */
export function getRank(group: ProcessGroup | null = groupNamed()): number {
  return group === null ? -1 : group.rank;
}

/** Number of processes, or of those of a group; -1 for a group that this process is not in. */
export function getWorldSize(group: ProcessGroup | null = groupNamed()): number {
  return group === null ? -1 : group.size;
}

/** Whether process groups over MPI can be asked for here: in Node, with koffi. */
export function isAvailable(): boolean {
  if (hostProcess() === null) return false;
  try {
    koffiPath();
    return true;
  } catch {
    return false;
  }
}
