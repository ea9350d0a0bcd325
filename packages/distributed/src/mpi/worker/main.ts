/**
 * @file Entry of the thread that owns MPI. `scripts/embed-worker.mjs` bundles it into `worker-program.ts`.
 */
import type { Command, Started, WorkerStartData } from '../protocol.js';
import { Agreement } from './agreement.js';
import { Collectives } from './collectives.js';
import { ControlChannel } from './control-channel.js';
import { Group } from './group.js';
import { type Koffi, STACKS } from './koffi.js';
import { checkLibrary } from './library-check.js';
import { MpiLibrary } from './library.js';
import { NativeMemory } from './native-memory.js';
import { Patience } from './patience.js';
import { Reductions } from './reductions.js';
import { Transfers } from './transfers.js';
import { Worker, type WorkerPort } from './worker.js';

interface Port {
  postMessage(message: unknown): void;
}

interface WorkerThreads {
  readonly workerData: WorkerStartData & { readonly port: Port };
  receiveMessageOnPort(port: Port): { readonly message: unknown } | undefined;
}

/** Of the script that the worker runs. */
declare const require: (module: string) => unknown;

/** Not imported: nothing of this package imports Node. */
const THREADS = 'node:worker_threads';

const FUNNELED = 1;

function start(threads: WorkerThreads): void {
  const { workerData } = threads;
  const { port, memory: heap } = workerData;
  let worker: Worker;
  try {
    const koffi = require(workerData.koffi) as Koffi;
    koffi.config(STACKS);
    const memory = new NativeMemory(koffi, heap);
    const mpi = MpiLibrary.load(koffi, workerData.libraries, memory);
    const number = memory.cell(8);
    mpi.call('Init_thread', 0, 0, FUNNELED, number.address);
    // Errors of a request are those of one of these, as the library has it: they end the job otherwise.
    for (const comm of [mpi.abi.self, mpi.abi.world])
      mpi.call('Comm_set_errhandler', comm, mpi.abi.errorsReturn);
    checkLibrary(mpi, memory);
    const control = controlGroup(mpi, memory);
    const { rank, size } = control;
    checkSize(mpi, size, workerData.expectedSize);
    const channel = new ControlChannel(mpi, memory, control.comm, rank, size);
    const patience = new Patience(channel);
    const agreement = new Agreement(mpi, memory, patience);
    const reductions = new Reductions(koffi, mpi, memory);
    const yieldCore = koffi.load(null).func('sched_yield', 'int', []);
    const commands: WorkerPort = {
      postMessage: (reply) => port.postMessage(reply),
      take: () => (threads.receiveMessageOnPort(port)?.message as Command | undefined) ?? null,
    };
    worker = new Worker({
      port: commands,
      words: new Int32Array(workerData.words),
      mpi,
      memory,
      control: channel,
      everyone: control.worldRanks,
      patience,
      agreement,
      collectives: new Collectives(mpi, memory, reductions, agreement, patience),
      transfers: new Transfers(mpi, memory, reductions, patience),
      yieldCore: () => void yieldCore(),
    });
    port.postMessage({ rank, size, library: mpi.version(), failure: null } satisfies Started);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const failure = { code: 'distributed-unavailable', message, hints: [] } as const;
    port.postMessage({ rank: 0, size: 1, library: '', failure } satisfies Started);
    return;
  }
  worker.serve();
}

/** A communicator of all processes with messages of its own. */
function controlGroup(mpi: MpiLibrary, memory: NativeMemory): Group {
  const cell = memory.cell(64);
  const request = memory.cell(64);
  mpi.call('Comm_idup', mpi.abi.world, cell.address, request.address);
  do mpi.call('Test', request.address, request.address + 8, request.address + 16);
  while (request.words[2] === 0);
  const number = memory.cell(8);
  mpi.call('Comm_size', mpi.abi.world, number.address);
  const ranks = Array.from({ length: number.words[0]! }, (_, rank) => rank);
  return new Group(mpi, memory, cell, 'control', ranks, Infinity);
}

/** A launcher of another MPI starts processes that do not know of each other. */
function checkSize(mpi: MpiLibrary, size: number, expected: number | null): void {
  if (expected === null || expected === size) return;
  throw new Error(
    `the launcher started ${expected} processes and ${mpi.version()} sees ${size}: launcher and library belong to different MPIs (TESSERA_MPI_LIBRARY names another library)`,
  );
}

start(require(THREADS) as WorkerThreads);
