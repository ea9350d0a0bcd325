/**
 * @file The control block: the words through which the threads of the pool talk to each other.
 *
 * It lies in the shared memory. Every word that one thread writes and another spins on has a cache
 * line of its own. All accesses are atomic.
 *
 * A *job* is one parallel launch. The calling thread (number 0) publishes it in this order: the claim of
 * each thread, stamped with the new sequence number; the job's description; the sequence number. Thread
 * t's share of the work items is claimed from `CLAIMS[t]`, a 64-bit word `sequence << 32 | next item`, by
 * compare-and-swap. A thread that is late therefore cannot take part in the wrong job: if its sequence
 * number is old, the claim's stamp differs; and while a claim with the current stamp succeeds, the job
 * is not done and its description does not change.
 */

/** Most threads a pool may have. */
export const MAX_THREADS = 64;

/** Distance between the words of two threads. */
export const THREAD_STRIDE = 64;

const IN_FLIGHT = 384;
const CLAIMS: number = IN_FLIGHT + MAX_THREADS * THREAD_STRIDE;

/** Byte offsets in the control block. */
export const CONTROL: Readonly<Record<ControlWord, number>> = {
  /** Number of the newest job; workers spin or sleep on it. */
  sequence: 0,
  /** Workers that sleep. */
  sleepers: 64,
  /** Items of the current job that are done. */
  done: 128,
  /** Messages posted to each worker so far. */
  mail: 192,
  /** The current job. */
  plan: 256,
  kernel: 260,
  args: 264,
  items: 268,
  minChunk: 272,
  threads: 276,
  /** Set by a worker whose kernel trapped. */
  failed: 320,
  /** Jobs for whose last items the calling thread waited longer than the whole job would have taken it. */
  stalls: 324,
  /** Per thread: items it has claimed and not yet finished. */
  inFlight: IN_FLIGHT,
  /** Per thread: the claim word of its share. */
  claims: CLAIMS,
  /** Size of the block. */
  bytes: CLAIMS + MAX_THREADS * THREAD_STRIDE,
};

type ControlWord =
  | 'sequence'
  | 'sleepers'
  | 'done'
  | 'mail'
  | 'plan'
  | 'kernel'
  | 'args'
  | 'items'
  | 'minChunk'
  | 'threads'
  | 'failed'
  | 'stalls'
  | 'inFlight'
  | 'claims'
  | 'bytes';

/** Plan number of a job that only wakes workers to read their mail. */
export const NO_PLAN = -1;
