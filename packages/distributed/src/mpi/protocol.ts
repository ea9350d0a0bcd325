/**
 * @file What the calling thread and the thread that owns MPI say to each other.
 *
 * Commands and replies are messages on one port. Three words of shared memory make them usable without an event
 * loop: the worker sleeps on `COMMANDS`, and whoever waits for a result sleeps on `REPLIES`.
 */
import type { DType } from '@tessera/tensor';
import type { ReduceOp } from '../communicator.js';

/** Indices into the shared words. `LEAVING` says how the process ends: 0 not yet, 1 cleanly, 2 with an error; 3 when said. */
export const WORD = { COMMANDS: 0, REPLIES: 1, LEAVING: 2, COUNT: 4 } as const;

/** Values of the word `LEAVING`. */
export const LEAVING = { NO: 0, CLEANLY: 1, FAILED: 2, DONE: 3 } as const;

/** Bytes that both threads see: in the heap of CPU tensors (`buffer` null), or in a buffer that came along. */
export interface Place {
  readonly buffer: SharedArrayBuffer | null;
  readonly offset: number;
  /** Number of elements. */
  readonly count: number;
}

/** Collectives, by the names that messages use. */
export type CollectiveKind =
  | 'all_reduce'
  | 'reduce'
  | 'broadcast'
  | 'all_gather'
  | 'reduce_scatter'
  | 'all_to_all'
  | 'barrier';

/** Makes communicator number `comm` of all processes; all of them do. */
export interface WorldCommand {
  readonly type: 'world';
  readonly id: number;
  readonly comm: number;
  readonly timeoutMs: number;
}

/** A collective to run. `input` and `output` are the same place for those that work in place. */
export interface CollectiveCommand {
  readonly type: 'collective';
  readonly id: number;
  readonly comm: number;
  readonly kind: CollectiveKind;
  readonly dtype: DType;
  readonly input: Place;
  readonly output: Place;
  readonly op: ReduceOp;
  readonly root: number;
  readonly sendCounts: readonly number[];
  readonly receiveCounts: readonly number[];
  /** What all ranks must agree on, in words. */
  readonly print: string;
}

/** A message to or from one rank. */
export interface TransferCommand {
  readonly type: 'send' | 'receive';
  readonly id: number;
  readonly comm: number;
  readonly dtype: DType;
  readonly data: Place;
  readonly peer: number;
  readonly tag: number;
}

/** Makes communicator number `made` of some ranks of `comm`, in this order. */
export interface SplitCommand {
  readonly type: 'split';
  readonly id: number;
  readonly comm: number;
  readonly made: number;
  readonly ranks: readonly number[];
  readonly timeoutMs: number;
  readonly print: string;
}

/** Frees a communicator; all its ranks do. */
export interface CloseCommand {
  readonly type: 'close';
  readonly id: number;
  readonly comm: number;
  readonly print: string;
}

/** What the worker is asked to do. */
export type Command =
  WorldCommand | CollectiveCommand | TransferCommand | SplitCommand | CloseCommand;

/** An error, before it is a `TesseraError`. */
export interface Failure {
  readonly code: 'distributed-unavailable' | 'distributed-mismatch' | 'distributed-timeout';
  readonly message: string;
  readonly hints: readonly string[];
}

/** That a command is done, or why it is not. */
export interface Reply {
  readonly id: number;
  readonly failure: Failure | null;
}

/** The first message of the worker: who this process is, or why there is no MPI. */
export interface Started {
  readonly rank: number;
  readonly size: number;
  /** The first line of `MPI_Get_library_version`. */
  readonly library: string;
  readonly failure: Failure | null;
}

/** What the worker is started with. */
export interface WorkerStartData {
  readonly port: unknown;
  readonly words: SharedArrayBuffer;
  readonly memory: WebAssembly.Memory | null;
  /** Path of koffi's CommonJS entry. */
  readonly koffi: string;
  /** Libraries to try, in order. */
  readonly libraries: readonly string[];
  /** How many processes the launcher says it started; null if it does not say. */
  readonly expectedSize: number | null;
}
