/**
 * @file Starting a worker thread, in Node and in browsers.
 *
 * Its program is a string, so that a bundle is one file and no path must be resolved. Pages that may only start
 * workers from files of their own name one with the same text: `browserWorkerScript(program)`.
 */
import { nodeBuiltin } from './node-builtin.js';

/** A started worker. */
export interface WorkerHandle {
  post(message: object): void;
  stop(): void;
}

/** What a worker runs, and who hears of it. */
export interface WorkerStart {
  /**
   * Text of a classic script that defines `receive(message)`, which is called with what is posted, and may
   * call `answer(message, transfer)`.
   */
  readonly program: string;
  /** Shown by debuggers. */
  readonly name: string;
  /** Called with what the worker answers. */
  readonly answered?: (message: never) => void;
  /** Told of an error that the worker did not catch. */
  readonly failed: (error: Error) => void;
  /** The process may end while the worker waits (Node). */
  readonly background?: boolean;
  /** Browsers: where a file with the text of `browserWorkerScript(program)` is; a blob is made if it is left out. */
  readonly url?: WorkerUrl | null;
}

/** Address of a worker's script: a URL, its text, or a TrustedScriptURL where a page enforces Trusted Types. */
export type WorkerUrl = string | URL | { readonly toJSON: () => string };

interface NodeWorker {
  postMessage(message: object): void;
  terminate(): unknown;
  unref(): void;
  on(event: string, listener: (value: never) => void): void;
}

interface NodeThreads {
  readonly Worker: new (code: string, options: { eval: true; name: string }) => NodeWorker;
}

interface BrowserWorker {
  postMessage(message: object): void;
  terminate(): void;
  addEventListener(
    type: 'message' | 'error',
    listener: (event: { readonly data: never; readonly message: string }) => void,
  ): void;
}

interface BrowserGlobals {
  readonly Worker?: new (url: WorkerUrl, options: { name: string }) => BrowserWorker;
  readonly Blob?: typeof Blob;
  readonly URL?: typeof URL;
}

const NODE = `
const { parentPort } = require('node:worker_threads');
const answer = (message, transfer) => parentPort.postMessage(message, transfer);
parentPort.on('message', (message) => receive(message));
`;

const BROWSER = `
const answer = (message, transfer) => self.postMessage(message, transfer);
self.onmessage = (event) => receive(event.data);
`;

/** What a browser's worker runs for a program: a classic script. */
export function browserWorkerScript(program: string): string {
  return `${BROWSER}${program}`;
}

/** Starts a worker, or returns null when the host does not allow it. */
export function startWorker(start: WorkerStart): WorkerHandle | null {
  const threads = nodeBuiltin<NodeThreads>('node:worker_threads');
  try {
    return threads === null ? startInBrowser(start) : startInNode(threads, start);
  } catch {
    // A content security policy can forbid workers made of blobs.
    return null;
  }
}

function startInNode({ Worker }: NodeThreads, start: WorkerStart): WorkerHandle {
  const worker = new Worker(`${NODE}${start.program}`, { eval: true, name: start.name });
  worker.on('error', start.failed);
  if (start.answered !== undefined) worker.on('message', start.answered);
  if (start.background === true) worker.unref();
  return {
    post: (message) => worker.postMessage(message),
    stop: () => void worker.terminate(),
  };
}

function startInBrowser(start: WorkerStart): WorkerHandle | null {
  const { Worker, Blob, URL } = globalThis as BrowserGlobals;
  if (Worker === undefined || Blob === undefined || URL === undefined) return null;
  const script = (): Blob =>
    new Blob([browserWorkerScript(start.program)], { type: 'text/javascript' });
  const blob = start.url == null ? URL.createObjectURL(script()) : null;
  const worker = new Worker(start.url ?? blob!, { name: start.name });
  worker.addEventListener('message', (event) => start.answered?.(event.data));
  worker.addEventListener('error', (event) => start.failed(new Error(event.message)));
  return {
    post: (message) => worker.postMessage(message),
    stop: () => {
      worker.terminate();
      if (blob !== null) URL.revokeObjectURL(blob);
    },
  };
}
