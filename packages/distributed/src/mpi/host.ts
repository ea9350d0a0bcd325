/**
 * @file The parts of Node that MPI needs, looked up at run time: bundles for browsers import nothing of Node.
 */
import { TesseraError, nodeBuiltin } from '@tessera/shared';

/** A message port. */
export interface HostPort {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: never) => void): void;
  once(event: 'message', listener: (message: never) => void): void;
  ref(): void;
  unref(): void;
  close(): void;
}

interface HostWorker {
  once(event: 'error', listener: (error: Error) => void): void;
  once(event: 'exit', listener: () => void): void;
  unref(): void;
}

/** `node:worker_threads`. */
export interface HostThreads {
  readonly Worker: new (program: string, options: object) => HostWorker;
  readonly MessageChannel: new () => { readonly port1: HostPort; readonly port2: HostPort };
  receiveMessageOnPort(port: HostPort): { readonly message: unknown } | undefined;
}

/** The process. */
export interface HostProcess {
  readonly env: Record<string, string | undefined>;
  cwd(): string;
  on(event: 'exit', listener: (code: number) => void): void;
}

/**
 * Settings of libraries below MPI that a program in Node needs, unless the user has set them.
 *
 * UCX patches the functions that return memory to the system, in order to remember registrations of memory with a
 * network card. With them a process with V8's threads has crashed now and then at its start; without them none has.
 */
export function prepareEnvironment(env: Record<string, string | undefined>): void {
  env.UCX_MEM_EVENTS ??= 'n';
}

interface Resolver {
  resolve(name: string): string;
}

/** This process; null in browsers. */
export function hostProcess(): HostProcess | null {
  const { process }: { readonly process?: HostProcess } = globalThis;
  return typeof process?.cwd === 'function' ? process : null;
}

/** Where koffi is, seen from this package or from the program. @throws distributed-unavailable */
export function koffiPath(): string {
  const module = nodeBuiltin<{ createRequire(from: string): Resolver }>('node:module');
  const cwd = hostProcess()?.cwd();
  for (const from of [import.meta.url, `${cwd}/program.js`]) {
    try {
      return module!.createRequire(from).resolve('koffi');
    } catch {
      continue;
    }
  }
  throw new TesseraError('distributed-unavailable', 'The package koffi is not installed.', {
    hints: [
      'npm install koffi: MPI is called through it.',
      "A program of one process does not need it: initProcessGroup({ backend: 'solo' }).",
    ],
  });
}
