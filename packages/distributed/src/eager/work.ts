/**
 * @file `Work`: a collective on tensors that has been started.
 */
import { TesseraError } from '@tessera/shared';
import type { Pending } from '../communicator.js';

/**
 * What eager collectives return with `async: true`. Its tensors belong to it until it is done; results are theirs
 * from then on.
 *
 * @see torch.distributed.Work
 */
export class Work {
  #state: 'running' | 'done' | 'failed' = 'running';
  #error: unknown = null;
  readonly #settled: Promise<void>;
  /** What can be waited for without an event loop; null while tensors are still on their way from a device. */
  #pending: Pending | null = null;
  readonly #store: () => void | Promise<void>;

  /** `store` puts results into the tensors once all is there. */
  constructor(pending: Pending | Promise<Pending>, store: () => void | Promise<void>) {
    this.#store = store;
    if ('waitSync' in pending) {
      this.#pending = pending;
      this.#settled = pending.done.then(() => this.#finish());
    } else {
      this.#settled = pending.then(({ done }) => done).then(() => this.#finish());
    }
    // An error is thrown by whoever waits; a program that does not wait is told of it by what it does next.
    this.#settled.catch((error: unknown) => {
      this.#state = 'failed';
      this.#error = error;
    });
  }

  /** Settles when the collective is done and its results are in the tensors. */
  wait(): Promise<void> {
    return this.#settled;
  }

  /** Whether `wait()` would return at once. */
  isCompleted(): boolean {
    return this.#state !== 'running';
  }

  /**
   * Returns when the collective is done, without giving the event loop a turn.
   *
   * @throws data-async-only for tensors of a device that is only read asynchronously, and what `wait` rejects with
   */
  waitSync(): void {
    if (this.#state === 'failed') throw this.#error;
    if (this.#state === 'done') return;
    if (this.#pending === null)
      throw new TesseraError(
        'data-async-only',
        'waitSync(): the tensors of this collective are on a device that is only read asynchronously.',
        { hints: ['await work.wait() instead.'] },
      );
    this.#pending.waitSync();
    void this.#finish();
  }

  #finish(): void | Promise<void> {
    if (this.#state !== 'running') return;
    const stored = this.#store();
    if (stored === undefined) {
      this.#state = 'done';
      return;
    }
    return stored.then(() => void (this.#state = 'done'));
  }
}
