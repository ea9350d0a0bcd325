/**
 * @file Workers that decode samples: the default export of a module, run on other threads.
 *
 * Samples and results cross threads as structured clones; buffers of typed arrays in a result are handed
 * over without a copy.
 */
import {
  type OptionNames,
  TesseraError,
  type WorkerHandle,
  type WorkerUrl,
  checkOptionNames,
  startWorker,
} from '@tessera/shared';
import { DECODER_PROGRAM } from './decoder-program.js';

/** What a pool is made from. */
export interface WorkerOptions {
  /**
   * Address of a module whose default export decodes a sample: `new URL('./decode.js', import.meta.url)`. Bundlers copy
   * that file as it is: for pages write it in JavaScript, without imports that only a bundler resolves.
   */
  readonly module: URL | string;
  /** Threads (default 2). */
  readonly count?: number;
  /**
   * Browsers: address of a copy of `@tessera/nn/data-worker.js`, for pages that may not start workers from blobs
   * (`worker-src 'self'`, Trusted Types).
   */
  readonly script?: WorkerUrl | null;
}

const OWN_SCRIPT =
  'Under a content security policy host a copy of @tessera/nn/data-worker.js: workers: { module, script }.';

const WORKERS: OptionNames<WorkerOptions> = { count: true, module: true, script: true };

/** @throws invalid-argument unless a pool can be made of the options */
export function checkWorkers(options: WorkerOptions): void {
  checkOptionNames('workers of a DataLoader', options, WORKERS);
  const { module, count = 2 } = options;
  const named = typeof module === 'string' || module instanceof URL;
  if (named && Number.isInteger(count) && count > 0) return;
  throw new TesseraError(
    'invalid-argument',
    named
      ? `DataLoader: workers are a positive whole number of threads, not ${String(count)}.`
      : `DataLoader: workers run a module, not ${String(module)}.`,
    {
      hints: [
        "Pass { module: new URL('./decode.js', import.meta.url), count: 2 }; its default export decodes a sample.",
      ],
    },
  );
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** See the file header. */
export class WorkerPool {
  private readonly threads: WorkerHandle[];
  private readonly module: string;
  private readonly waiting: Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  > = new Map();
  private next = 0;

  constructor({ module, count = 2, script = null }: WorkerOptions) {
    this.module = String(module);
    const fail = (error: Error): void => {
      for (const { reject } of this.waiting.values()) reject(this.failure(error.message));
      this.waiting.clear();
    };
    const settle = ({ id, value, error }: Reply): void => {
      const entry = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) entry?.resolve(value);
      else entry?.reject(this.failure(error));
    };
    this.threads = Array.from({ length: count }, (_, i) => {
      const name = `tessera-data-${i}`;
      const thread = startWorker({
        program: DECODER_PROGRAM,
        name,
        answered: settle,
        failed: fail,
        url: script,
      });
      if (thread !== null) return thread;
      throw new TesseraError('invalid-argument', 'This host starts no workers.', {
        hints: [OWN_SCRIPT, 'Leave `workers` out: samples are then decoded on the calling thread.'],
      });
    });
  }

  private failure(message: string): TesseraError {
    // Pages are told nothing of a worker that may not start.
    const [reason, hint] = message
      ? [
          message,
          `The default export of ${this.module} is called with a sample and returns what is batched.`,
        ]
      : ['it did not start.', OWN_SCRIPT];
    return new TesseraError('invalid-argument', `A DataLoader worker failed: ${reason}`, {
      hints: [hint],
    });
  }

  /** Decodes one sample on the next thread. */
  run(sample: unknown): Promise<unknown> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.threads[id % this.threads.length]!.post({ module: this.module, id, sample });
    });
  }

  /** Ends the threads; what they had not decoded yet is given up. */
  stop(): void {
    for (const thread of this.threads) thread.stop();
    this.waiting.clear();
  }
}
