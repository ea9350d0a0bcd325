/**
 * @file `MpiEngine`: the calling thread's side of the thread that owns MPI.
 *
 * There is one per process, from the first `initProcessGroup()` to the end, as MPI starts only once. Results arrive
 * as messages, for promises, and are taken from the port by whoever waits without an event loop.
 */
import { type ErrorCode, TesseraError, nodeBuiltin } from '@tessera/shared';
import { cpuHeap } from '@tessera/tensor';
import type { Pending } from '../communicator.js';
import { launchOf, librariesFor } from './launcher.js';
import {
  type Command,
  type Failure,
  LEAVING,
  type Reply,
  type Started,
  WORD,
  type WorkerStartData,
} from './protocol.js';
import {
  type HostPort,
  type HostThreads,
  hostProcess,
  koffiPath,
  prepareEnvironment,
} from './host.js';
import { MPI_WORKER_PROGRAM } from './worker-program.js';

/** A command without its number. */
export type Request = Command extends infer C ? (C extends Command ? Omit<C, 'id'> : never) : never;

/** What to install and how to run, for errors. */
const HOW_TO_RUN = [
  'Install MPI (Debian: apt-get install mpich) and koffi (npm install koffi), and start the program with mpirun -n 2 node train.js.',
  "A program of one process needs neither: initProcessGroup({ backend: 'solo' }).",
];

/** See the file header. */
export class MpiEngine {
  #waiting = new Map<number, Operation>();
  #nextId = 1;
  #nextComm = 0;
  /** Why nothing works any more; null while it does. */
  #lost: TesseraError | null = null;

  private constructor(
    private readonly threads: HostThreads,
    private readonly port: HostPort,
    private readonly words: Int32Array,
    readonly rank: number,
    readonly size: number,
    /** What the library says it is. */
    readonly library: string,
  ) {
    port.on('message', (reply: Reply) => this.#settle(reply));
    port.unref();
    hostProcess()!.on('exit', (code) => this.#leave(code));
  }

  /** Starts MPI in this process. @throws distributed-unavailable */
  static async start(): Promise<MpiEngine> {
    const threads = nodeBuiltin<HostThreads>('node:worker_threads');
    const host = hostProcess();
    if (threads === null || host === null)
      throw unavailable('MPI needs Node: there is none in browsers.');
    prepareEnvironment(host.env);
    const launch = launchOf(host.env);
    const words = new Int32Array(new SharedArrayBuffer(4 * WORD.COUNT));
    const { port1: port, port2 } = new threads.MessageChannel();
    const data: WorkerStartData = {
      port: port2,
      words: words.buffer,
      memory: cpuHeap().shared ? cpuHeap().memory : null,
      koffi: koffiPath(),
      libraries: librariesFor(launch, host.env),
      expectedSize: launch.size,
    };
    const worker = new threads.Worker(MPI_WORKER_PROGRAM, {
      eval: true,
      name: 'tessera-mpi',
      workerData: data,
      transferList: [port2],
      execArgv: [],
    });
    const started = await new Promise<Started>((resolve, reject) => {
      port.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(unavailable('The thread that owns MPI did not start.')));
    });
    if (started.failure !== null) {
      port.close();
      throw unavailable(`MPI could not be started: ${started.failure.message}.`);
    }
    worker.unref();
    const { rank, size, library } = started;
    const engine = new MpiEngine(threads, port, words, rank, size, library);
    worker.once('error', (error) => engine.#workerLost(error));
    return engine;
  }

  /** A number for a new communicator. */
  nextComm(): number {
    return this.#nextComm++;
  }

  /** Hands a command to the worker. `finish` runs once it has succeeded, before anybody hears of it. */
  submit(request: Request, finish?: () => void): Pending {
    const id = this.#nextId++;
    const operation = new Operation(this, finish);
    if (this.#lost !== null) {
      operation.settle(this.#lost);
      return operation;
    }
    if (this.#waiting.size === 0) this.port.ref();
    this.#waiting.set(id, operation);
    this.port.postMessage({ ...request, id });
    Atomics.add(this.words, WORD.COMMANDS, 1);
    Atomics.notify(this.words, WORD.COMMANDS);
    return operation;
  }

  /** Waits for a reply, and takes all that are there. */
  waitForReplies(seen: number): void {
    Atomics.wait(this.words, WORD.REPLIES, seen);
    this.takeReplies();
  }

  /** How many replies there have been. */
  get replies(): number {
    return Atomics.load(this.words, WORD.REPLIES);
  }

  takeReplies(): void {
    for (;;) {
      const got = this.threads.receiveMessageOnPort(this.port);
      if (got === undefined) return;
      this.#settle(got.message as Reply);
    }
  }

  #settle({ id, failure }: Reply): void {
    const operation = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.port.unref();
    operation?.settle(failure === null ? null : errorOf(failure));
  }

  /** The worker only ends by an error of its own. */
  #workerLost(error: Error): void {
    this.#lost = unavailable(`The thread that owns MPI has ended: ${error.message}.`);
    const operations = [...this.#waiting.values()];
    this.#waiting.clear();
    this.port.unref();
    for (const operation of operations) operation.settle(this.#lost);
  }

  /** The process ends: lets the worker end MPI, which waits for the other processes if all is well. */
  #leave(code: number): void {
    if (this.#lost !== null) return;
    const { words } = this;
    const how = code === 0 ? LEAVING.CLEANLY : LEAVING.FAILED;
    Atomics.store(words, WORD.LEAVING, how);
    Atomics.add(words, WORD.COMMANDS, 1);
    Atomics.notify(words, WORD.COMMANDS);
    const longest = code === 0 ? Infinity : FAREWELL_MS;
    Atomics.wait(words, WORD.LEAVING, how, longest);
  }
}

/** How long a process that failed waits for its worker to tell the others. */
const FAREWELL_MS = 2_000;

/** An operation that the worker has, or has done. */
class Operation implements Pending {
  #state: 'waiting' | 'done' | 'failed' = 'waiting';
  #error: TesseraError | null = null;
  #promise: Promise<void> | null = null;
  #resolve: (() => void) | null = null;
  #reject: ((error: TesseraError) => void) | null = null;

  constructor(
    private readonly engine: MpiEngine,
    private readonly finish: (() => void) | undefined,
  ) {}

  get done(): Promise<void> {
    return (this.#promise ??= new Promise((resolve, reject) => {
      if (this.#state === 'done') resolve();
      else if (this.#state === 'failed') reject(this.#error!);
      this.#resolve = resolve;
      this.#reject = reject;
    }));
  }

  waitSync(): void {
    while (this.#state === 'waiting') {
      const seen = this.engine.replies;
      this.engine.takeReplies();
      if (this.#state === 'waiting') this.engine.waitForReplies(seen);
    }
    if (this.#state === 'failed') throw this.#error!;
  }

  settle(error: TesseraError | null): void {
    this.#error = error;
    this.#state = error === null ? 'done' : 'failed';
    if (error === null) {
      this.finish?.();
      this.#resolve?.();
    } else this.#reject?.(error);
  }
}

function errorOf({ code, message, hints }: Failure): TesseraError {
  return new TesseraError(code satisfies ErrorCode, message, {
    hints: hints.length > 0 ? hints : HOW_TO_RUN,
  });
}

function unavailable(message: string): TesseraError {
  return new TesseraError('distributed-unavailable', message, { hints: HOW_TO_RUN });
}

let engine: Promise<MpiEngine> | null = null;

/** The engine of this process, started on first use. @throws distributed-unavailable */
export function mpiEngine(): Promise<MpiEngine> {
  engine ??= MpiEngine.start().catch((error: unknown) => {
    engine = null;
    throw error;
  });
  return engine;
}
