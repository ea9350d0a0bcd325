/**
 * @file `Group`: a communicator of MPI as the worker keeps it.
 */
import type { Failure } from '../protocol.js';
import type { Handle } from './abi.js';
import type { MpiLibrary } from './library.js';
import type { Cell, NativeMemory } from './native-memory.js';

/** Where collectives of a group stand on this rank. */
export interface Position {
  /** Collectives begun so far. */
  readonly begun: number;
  /** Collectives completed so far. */
  readonly completed: number;
  /** The last one begun, in words. */
  readonly last: string;
}

/** See the file header. Collectives of a group run one after another; groups do not wait for each other. */
export class Group {
  readonly rank: number;
  readonly size: number;
  begun = 0;
  completed = 0;
  last = 'nothing yet';
  /** Groups made from this one so far. */
  splits = 0;
  /** Why nothing can be done with the group any more; null while it can. */
  broken: Failure | null = null;
  /** Results of MPI's functions for the collective that runs. */
  readonly request: Cell;
  readonly sums: Cell;
  /** Memory that MPI reads while the collective runs. */
  kept: Cell | null = null;

  constructor(
    mpi: MpiLibrary,
    memory: NativeMemory,
    /** Holds the handle of the communicator. */
    private readonly cell: Cell,
    /** The same on all ranks of the group, and of no other group. */
    readonly key: string,
    readonly worldRanks: readonly number[],
    readonly timeoutMs: number,
  ) {
    this.request = memory.cell(64);
    this.sums = memory.cell(64);
    this.comm = mpi.readHandle(cell);
    mpi.call('Comm_set_errhandler', this.comm, mpi.abi.errorsReturn);
    const number = memory.cell(8);
    mpi.call('Comm_rank', this.comm, number.address);
    this.rank = number.words[0]!;
    mpi.call('Comm_size', this.comm, number.address);
    this.size = number.words[0]!;
  }

  readonly comm: Handle;

  get position(): Position {
    return { begun: this.begun, completed: this.completed, last: this.last };
  }

  free(mpi: MpiLibrary): void {
    mpi.call('Comm_free', this.cell.address);
  }
}
