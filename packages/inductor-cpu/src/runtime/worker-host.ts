/**
 * @file Threads of the host: how many cores there are, and how to start a worker in Node and browsers.
 *
 * The worker's program is a string, so that a bundle is one file and no path must be resolved.
 */

/** A started worker. */
export interface WorkerHandle {
  post(message: object): void;
  stop(): void;
}

interface NodeWorker {
  postMessage(message: object): void;
  terminate(): unknown;
  unref(): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

interface NodeThreads {
  readonly Worker: new (code: string, options: { eval: true; name: string }) => NodeWorker;
}

interface HostGlobals {
  readonly process?: {
    readonly versions?: { readonly node?: string };
    getBuiltinModule?(name: string): unknown;
  };
  readonly navigator?: { readonly hardwareConcurrency?: number };
  readonly Worker?: new (
    url: string,
    options: { name: string },
  ) => { postMessage(message: object): void; terminate(): void };
  readonly Blob?: typeof Blob;
  readonly URL?: typeof URL;
}

const host = globalThis as HostGlobals;

function builtin<T>(name: string): T | null {
  if (host.process?.versions?.node === undefined || host.process.getBuiltinModule === undefined)
    return null;
  return (host.process.getBuiltinModule(name) as T | undefined) ?? null;
}

/** Cores this process may use. */
export function coreCount(): number {
  const os = builtin<{ availableParallelism(): number }>('node:os');
  return os?.availableParallelism() ?? host.navigator?.hardwareConcurrency ?? 1;
}

/** Starts a worker with a program, or null when the host does not allow it. `failed` is told of errors that end it. */
export function startWorker(
  code: string,
  name: string,
  failed: (error: Error) => void,
): WorkerHandle | null {
  const threads = builtin<NodeThreads>('node:worker_threads');
  try {
    if (threads !== null) {
      const worker = new threads.Worker(code, { eval: true, name });
      worker.on('error', failed);
      // The process may end while workers wait for work.
      worker.unref();
      return {
        post: (message) => worker.postMessage(message),
        stop: () => void worker.terminate(),
      };
    }
    if (host.Worker === undefined || host.Blob === undefined || host.URL === undefined) return null;
    const url = host.URL.createObjectURL(new host.Blob([code], { type: 'text/javascript' }));
    const worker = new host.Worker(url, { name });
    return { post: (message) => worker.postMessage(message), stop: () => worker.terminate() };
  } catch {
    // A content security policy can forbid blob workers; kernels then run on the calling thread.
    return null;
  }
}
