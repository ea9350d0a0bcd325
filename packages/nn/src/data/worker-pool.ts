/**
 * @file Workers that decode samples: the default export of a module, run on other threads.
 *
 * Samples and results cross threads as structured clones; buffers of typed arrays in a result are handed
 * over without a copy.
 */
import { TesseraError } from '@tessera/shared';

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

interface Thread {
  post(message: object): void;
  stop(): void;
}

/** Both kinds of worker run this; `answer` is what differs. */
const PROGRAM = `
const buffers = (value, found = []) => {
  if (ArrayBuffer.isView(value)) { if (value.buffer instanceof ArrayBuffer) found.push(value.buffer); }
  else if (value instanceof ArrayBuffer) found.push(value);
  else if (value !== null && typeof value === 'object') for (const item of Object.values(value)) buffers(item, found);
  return found;
};
const serve = (answer) => {
  let decode = null;
  return async ({ module, id, sample }) => {
    try {
      decode ??= (await import(module)).default;
      const value = await decode(sample);
      answer({ id, value }, [...new Set(buffers(value))]);
    } catch (error) {
      answer({ id, error: String((error && error.stack) || error) }, []);
    }
  };
};
`;

const NODE_PROGRAM = `${PROGRAM}
const { parentPort } = require('node:worker_threads');
parentPort.on('message', serve((reply, transfer) => parentPort.postMessage(reply, transfer)));
`;

const BROWSER_PROGRAM = `${PROGRAM}
const handle = serve((reply, transfer) => postMessage(reply, transfer));
onmessage = (event) => handle(event.data);
`;

interface NodeThreads {
  readonly Worker: new (
    code: string,
    options: { eval: true },
  ) => {
    postMessage(message: object): void;
    terminate(): unknown;
    on(event: string, listener: (value: never) => void): void;
  };
}

function startThread(onReply: (reply: Reply) => void, onError: (error: Error) => void): Thread {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): unknown };
  };
  const threads = process?.getBuiltinModule?.('node:worker_threads') as NodeThreads | undefined;
  if (threads !== undefined) {
    const worker = new threads.Worker(NODE_PROGRAM, { eval: true });
    worker.on('message', onReply);
    worker.on('error', onError);
    return {
      post: (message) => worker.postMessage(message),
      stop: () => void worker.terminate(),
    };
  }
  const url = URL.createObjectURL(new Blob([BROWSER_PROGRAM], { type: 'text/javascript' }));
  const worker = new Worker(url, { type: 'module' });
  worker.addEventListener('message', (event) => onReply(event.data as Reply));
  worker.addEventListener('error', (event) => onError(new Error(event.message)));
  return {
    post: (message) => worker.postMessage(message),
    stop: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
    },
  };
}

/** See the file header. */
export class WorkerPool {
  private readonly threads: Thread[];
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
    this.threads = Array.from({ length: count }, () => startThread(settle, fail));
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
