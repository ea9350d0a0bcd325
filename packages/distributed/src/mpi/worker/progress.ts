/**
 * @file How the worker waits: for other ranks with patience, for bytes that flow without.
 *
 * Operations are generators that say at each step what they wait for; the loop in `worker.ts` decides from that
 * how soon to look again.
 */
import type { MpiLibrary } from './library.js';
import type { Cell } from './native-memory.js';

/** `waiting`: other ranks may take their time. `active`: all are there, and this rank's help may be needed. */
export type Progress = 'waiting' | 'active';

/** An operation under way. */
export type Task<T = void> = Generator<Progress, T, void>;

/** Waits for a request of MPI. `check` runs between looks and may throw. */
export function* completion(
  mpi: MpiLibrary,
  request: Cell,
  progress: Progress,
  check: () => Task | null,
): Task {
  // The handle is first, then the flag, then the status.
  const { address, words } = request;
  for (;;) {
    mpi.call('Test', address, address + 8, address + 16);
    if (words[2] !== 0) return;
    const found = check();
    if (found !== null) yield* found;
    yield progress;
  }
}

/** Yields to other threads of this machine, then sleeps longer and longer while nothing happens. */
export class Pause {
  #idle = 0;

  constructor(
    private readonly words: Int32Array,
    private readonly yieldCore: () => void,
  ) {}

  /** Something happened. */
  reset(): void {
    this.#idle = 0;
  }

  /** Waits a moment; at once over when `words[index]` is no longer `seen`. */
  take(progress: Progress, index: number, seen: number): void {
    this.#idle++;
    if (progress === 'active' || this.#idle <= YIELDS) {
      this.yieldCore();
      return;
    }
    const ms = Math.min(LONGEST_MS, SHORTEST_MS * 1.2 ** (this.#idle - YIELDS));
    Atomics.wait(this.words, index, seen, ms);
  }
}

/** Looks before the first sleep: about 50 µs, in which a rank that is only a little late arrives. */
const YIELDS = 40;
const SHORTEST_MS = 0.05;
const LONGEST_MS = 1;
