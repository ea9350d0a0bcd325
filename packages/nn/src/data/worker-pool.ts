/**
 * @file Workers that decode samples: the default export of a module, run on other threads.
 *
 * Samples and results cross threads as structured clones; buffers of typed arrays in a result are handed
 * over without a copy.
 */
import { TesseraError, type WorkerHandle, startWorker } from '@tessera/shared';

/** What a pool is made from. */
export interface WorkerOptions {
  /** Address of a module whose default export decodes a sample: `new URL('./decode.js', import.meta.url)`. */
  readonly module: URL | string;
  /** Threads (default 2). */
  readonly count?: number;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** What each thread runs; the decoder is loaded with the first sample. */
const PROGRAM = `
const buffers = (value, found = []) => {
  if (ArrayBuffer.isView(value)) { if (value.buffer instanceof ArrayBuffer) found.push(value.buffer); }
  else if (value instanceof ArrayBuffer) found.push(value);
  else if (value !== null && typeof value === 'object') for (const item of Object.values(value)) buffers(item, found);
  return found;
};
let decode = null;
async function receive({ module, id, sample }) {
  try {
    decode ??= (await import(module)).default;
    const value = await decode(sample);
    answer({ id, value }, [...new Set(buffers(value))]);
  } catch (error) {
    answer({ id, error: String((error && error.stack) || error) }, []);
  }
}
`;

/** See the file header. */
export class WorkerPool {
  private readonly threads: WorkerHandle[];
  private readonly module: string;
  private readonly waiting: Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  > = new Map();
  private next = 0;

  constructor({ module, count = 2 }: WorkerOptions) {
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
      const thread = startWorker({ program: PROGRAM, name, answered: settle, failed: fail });
      if (thread !== null) return thread;
      throw new TesseraError('invalid-argument', 'This host starts no workers.', {
        hints: ['Leave `workers` out: samples are then decoded on the calling thread.'],
      });
    });
  }

  private failure(message: string): TesseraError {
    return new TesseraError('invalid-argument', `A DataLoader worker failed: ${message}`, {
      hints: [
        `The default export of ${this.module} is called with a sample and returns what is batched.`,
      ],
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
