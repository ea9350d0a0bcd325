/**
 * @file `Communicator`: what carries bytes between the ranks of a group.
 *
 * A third party implements this interface (a WebRTC or WebSocket group), and proves it with the conformance
 * suite of `@tessera/testkit`. The MPI one is in `mpi/`. Everything above it (process groups, tensors of any
 * device, operators of graphs, DistributedDataParallel) is written once, over this.
 *
 * Every rank calls the same collectives in the same order; a communicator runs them in the order of the calls.
 * Buffers belong to the communicator from the call until the operation is done.
 */
import type { HostBuffer } from './host-buffer.js';

/**
 * How the values of the ranks become one. `avg` divides the sum by the number of ranks, of floating-point types only.
 * `min` and `max` are NaN where one rank has it.
 */
export type ReduceOp = 'sum' | 'avg' | 'product' | 'min' | 'max' | 'band' | 'bor' | 'bxor';

/** An operation that has been started. */
export interface Pending {
  /** Settles when the operation is done. Rejects with a `TesseraError`. The event loop stays alive meanwhile. */
  readonly done: Promise<void>;
  /**
   * Returns when the operation is done, without giving the event loop a turn.
   *
   * @throws data-async-only where `canBlock` is false, and what `done` rejects with
   */
  waitSync(): void;
}

/** See the file header. Counts are in elements; `root`, `to` and `from` are ranks of this communicator. */
export interface Communicator {
  /** A short name for messages: `mpi`, `solo`. */
  readonly backend: string;
  readonly rank: number;
  readonly size: number;
  /** Whether `Pending.waitSync` can wait for the other ranks. */
  readonly canBlock: boolean;
  /** In place: afterwards every rank holds the reduction. */
  allReduce(buffer: HostBuffer, op: ReduceOp): Pending;
  /** In place at `root`; the buffers of the others are unchanged. */
  reduce(buffer: HostBuffer, op: ReduceOp, root: number): Pending;
  broadcast(buffer: HostBuffer, root: number): Pending;
  /** `output` holds the inputs of all ranks, in their order. All inputs are of one length. */
  allGather(input: HostBuffer, output: HostBuffer): Pending;
  /** `input` holds a part for every rank, in their order; each rank gets the reduction of its parts. */
  reduceScatter(input: HostBuffer, output: HostBuffer, op: ReduceOp): Pending;
  /** Sends `sendCounts[r]` elements of `input` to each rank r, and puts what comes from it into `output`, in rank order. */
  allToAll(
    input: HostBuffer,
    output: HostBuffer,
    sendCounts: readonly number[],
    receiveCounts: readonly number[],
  ): Pending;
  barrier(): Pending;
  send(buffer: HostBuffer, to: number, tag: number): Pending;
  receive(buffer: HostBuffer, from: number, tag: number): Pending;
  /**
   * A communicator of some of the ranks, in this order; null on ranks that are not among them. Every rank of this
   * communicator calls it.
   */
  split(ranks: readonly number[]): Promise<Communicator | null>;
  /** Ends it, together with the other ranks. Nothing may be called afterwards. */
  close(): Promise<void>;
}
