/**
 * @file The thread pool: worker threads on the CPU heap's shared memory.
 *
 * The calling thread is thread 0. Workers start when there has been enough work to share, so that a
 * program of small tensors never has any, and get every plan's module by message; until a worker has it,
 * the others do its share. Whether a run uses the pool is decided per run: workers that spin cost 0.3 µs
 * to reach, sleeping ones 40 µs.
 */
import { type WorkerHandle, startWorker } from '@tessera/shared';
import { cpuHeap } from '@tessera/tensor';
import { SCRATCH } from '../wasm-kernel.js';
import { coreCount } from './core-count.js';
import { CONTROL, MAX_THREADS, NO_PLAN, THREAD_STRIDE } from './control-block.js';
import { cpuConfig } from './cpu-config.js';
import { THREAD } from './parallel-code.js';
import { ScratchMemory, type ScratchBlock } from './scratch-memory.js';
import { WORKER_PROGRAM, type WorkerMessage, type WorkerPlan } from './worker-program.js';

/** How long an idle worker spins before it sleeps, in milliseconds. */
const SPIN_MS = 0.15;
/** Work after which workers are started, in nanoseconds of single-thread time: what starting one costs. */
const START_NS = 1_000_000;
/** Work that justifies waking sleeping workers, in nanoseconds of single-thread time. */
const WAKE_NS = 100_000;

/** A run in which at least every eighth shared launch stalled did not profit from threads. */
const STALLS_PER_LAUNCH = 8;
/** Runs on one thread after such a run: doubles each time, shrinks with every good run. */
const MIN_PENALTY = 4;
const MAX_PENALTY = 256;

/** A loaded plan as workers see it. */
export interface SharedPlan {
  readonly id: number;
  readonly module: WebAssembly.Module;
  /** Values of exported globals, the same on every thread. */
  readonly globals: Readonly<Record<string, number>>;
  readonly scratchBytes: number;
}

interface PoolWorker {
  readonly handle: WorkerHandle;
  readonly thread: number;
  readonly scratch: ScratchMemory;
  readonly blocks: Map<number, ScratchBlock>;
}

/** See the file header. */
export class ThreadPool {
  /** Address of the control block. */
  readonly control: number;
  /** Threads that take part, counting the calling one. */
  threads = 1;
  readonly scratch: ScratchMemory = new ScratchMemory();
  readonly #workers: PoolWorker[] = [];
  readonly #plans = new Map<number, SharedPlan>();
  #configured = -1;
  /** Threads that there should be, and the work so far that they could have shared. */
  #wanted = 1;
  #sharableNs = 0;
  #mail = 0;
  #nextPlan = 1;
  /** Work of recent runs that were too small to wake sleeping workers for. */
  #credit = 0;
  /** Stalls seen so far, runs left to do on one thread, and how many there will be after the next stall. */
  #stalls = 0;
  #serialRuns = 0;
  #penalty = MIN_PENALTY;
  #broken = false;

  constructor() {
    this.control = cpuHeap().alloc(CONTROL.bytes);
    cpuHeap().u8.fill(0, this.control, this.control + CONTROL.bytes);
  }

  /** A number for a new plan. */
  nextPlanId(): number {
    return this.#nextPlan++;
  }

  /** Makes a plan known to all workers. */
  share(plan: SharedPlan): void {
    this.#plans.set(plan.id, plan);
    this.#deliver((worker, mail) => ({ type: 'plan', mail, plan: this.#planFor(worker, plan) }));
  }

  /** Takes a plan away again. */
  drop(id: number): void {
    if (!this.#plans.delete(id)) return;
    for (const worker of this.#workers) {
      const block = worker.blocks.get(id);
      worker.blocks.delete(id);
      if (block !== undefined) worker.scratch.release(block);
    }
    this.#deliver((_worker, mail) => ({ type: 'drop', mail, id }));
  }

  /** Follows a change of `config.cpu.threads`. */
  #configure(): void {
    this.#configured = cpuConfig.threads;
    // By default no more than cores: spinning threads would take each other's time slices.
    const threads = cpuConfig.threads === 0 ? coreCount() : cpuConfig.threads;
    this.#wanted = cpuHeap().shared && !this.#broken ? Math.min(threads, MAX_THREADS) : 1;
    this.#useWorkers();
  }

  /** Starts the workers that are wanted and missing, unless the host refuses. */
  #startWorkers(): void {
    while (this.#workers.length < this.#wanted - 1)
      if (!this.#start()) this.#wanted = this.#workers.length + 1;
    this.#useWorkers();
  }

  #useWorkers(): void {
    this.threads = Math.min(this.#wanted, this.#workers.length + 1);
    this.#write(CONTROL.threads, this.threads);
  }

  /** Whether a run with this much sharable work should use the pool. */
  isWorthwhile(parallelNs: number): boolean {
    if (this.#configured !== cpuConfig.threads) this.#configure();
    if (this.threads < this.#wanted) {
      this.#sharableNs += parallelNs;
      if (this.#sharableNs >= START_NS) this.#startWorkers();
    }
    if (this.threads === 1) return false;
    if (this.#serialRuns > 0) {
      this.#serialRuns--;
      return false;
    }
    if (cpuHeap().i32[(this.control + CONTROL.sleepers) >>> 2] === 0) return true;
    this.#credit += parallelNs;
    if (this.#credit < WAKE_NS) return false;
    this.#credit = 0;
    return true;
  }

  /**
   * After a run of `launches` shared launches. Where threads only got in each other's way (another
   * program needs the cores), the next runs use one thread. Returns whether a worker's kernel trapped.
   */
  finishRun(launches: number): boolean {
    const { i32 } = cpuHeap();
    const stalls = i32[(this.control + CONTROL.stalls) >>> 2];
    if ((stalls - this.#stalls) * STALLS_PER_LAUNCH >= launches) {
      this.#penalty = Math.min(this.#penalty * 2, MAX_PENALTY);
      this.#serialRuns = this.#penalty;
    } else if (this.#penalty > MIN_PENALTY) {
      this.#penalty--;
    }
    this.#stalls = stalls;
    if (i32[(this.control + CONTROL.failed) >>> 2] === 0) return false;
    this.#write(CONTROL.failed, 0);
    return true;
  }

  /** After a trap on the calling thread: withdraws unclaimed work and waits for what workers still do. */
  abandonJob(): void {
    const { i32, i64 } = cpuHeap();
    const word = (offset: number): number => (this.control + offset) >>> 2;
    const sequence = Atomics.load(i32, word(CONTROL.sequence));
    const items = Atomics.load(i32, word(CONTROL.items));
    const threads = Atomics.load(i32, word(CONTROL.threads));
    const share = Math.ceil(items / threads);
    Atomics.add(i32, word(CONTROL.done), Atomics.exchange(i32, word(CONTROL.inFlight), 0));
    for (let thread = 0; thread < threads; thread++) {
      const claim = (this.control + CONTROL.claims + thread * THREAD_STRIDE) / 8;
      const stop = Math.min((thread + 1) * share, items);
      const taken = (BigInt(sequence) << 32n) | BigInt(stop);
      const next = Number(BigInt.asUintN(32, Atomics.exchange(i64, claim, taken)));
      if (next < stop) Atomics.add(i32, word(CONTROL.done), stop - next);
    }
    while (Atomics.load(i32, word(CONTROL.done)) < items) continue;
    // A worker may have trapped in the same job.
    this.#write(CONTROL.failed, 0);
  }

  #start(): boolean {
    const thread = this.#workers.length + 1;
    const handle = startWorker({
      program: WORKER_PROGRAM,
      name: `tessera-cpu-${thread}`,
      failed: () => this.#workerLost(),
      url: cpuConfig.workerUrl,
      // The process may end while workers wait for work.
      background: true,
    });
    if (handle === null) return false;
    const worker: PoolWorker = { handle, thread, scratch: new ScratchMemory(), blocks: new Map() };
    this.#workers.push(worker);
    const plans = [...this.#plans.values()].map((plan) => this.#planFor(worker, plan));
    const { memory } = cpuHeap();
    const message: WorkerMessage = {
      type: 'start',
      mail: this.#mail,
      memory,
      control: this.control,
      thread,
      spinMs: SPIN_MS,
      plans,
    };
    handle.post(message);
    return true;
  }

  /** Workers only end by error (say, the host ran out of memory for one): go on without any. */
  #workerLost(): void {
    this.#broken = true;
    this.#wanted = 1;
    this.threads = 1;
    for (const worker of this.#workers.splice(0)) worker.handle.stop();
  }

  #planFor(worker: PoolWorker, plan: SharedPlan): WorkerPlan {
    const block = worker.scratch.acquire(plan.scratchBytes);
    worker.blocks.set(plan.id, block);
    const globals = { ...plan.globals, [SCRATCH.name]: block.ptr, [THREAD.name]: worker.thread };
    return { id: plan.id, module: plan.module, globals };
  }

  /** Posts a message to each worker and makes them look: a worker that waits for work sits outside its event loop. */
  #deliver(message: (worker: PoolWorker, mail: number) => WorkerMessage): void {
    if (this.#workers.length === 0) return;
    this.#mail++;
    for (const worker of this.#workers) worker.handle.post(message(worker, this.#mail));
    this.#write(CONTROL.mail, this.#mail);
    this.#write(CONTROL.plan, NO_PLAN);
    const { i32 } = cpuHeap();
    const sequence = (this.control + CONTROL.sequence) >>> 2;
    Atomics.add(i32, sequence, 1);
    Atomics.notify(i32, sequence);
  }

  #write(offset: number, value: number): void {
    Atomics.store(cpuHeap().i32, (this.control + offset) >>> 2, value);
  }
}

let pool: ThreadPool | null = null;

/** The pool of this process, created on first use. */
export function threadPool(): ThreadPool {
  return (pool ??= new ThreadPool());
}
