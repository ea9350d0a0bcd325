/**
 * @file The thread that owns MPI: takes commands, runs them side by side, answers.
 *
 * It never returns to its event loop. Commands are taken from the port, operations are advanced one step each, and
 * where none can be, it sleeps: until a command comes while nothing is to do, else for moments (progress.ts).
 */
import { type Command, LEAVING, type Reply, WORD } from '../protocol.js';
import type { Agreement } from './agreement.js';
import type { Collectives } from './collectives.js';
import type { ControlChannel, ControlMessage } from './control-channel.js';
import { WorkerFailure, failureOf } from './failure.js';
import { Group } from './group.js';
import type { MpiLibrary } from './library.js';
import type { NativeMemory } from './native-memory.js';
import type { Patience } from './patience.js';
import { Pause, type Progress, type Task, completion } from './progress.js';
import type { Transfers } from './transfers.js';

/** How often a worker without work looks whether others ask it something, in milliseconds. */
const IDLE_LOOK_MS = 20;
/** The same of one with work. */
const BUSY_LOOK_MS = 2;
/** How long a process that ends with an error tries to tell the others. */
const LAST_WORDS_MS = 500;

/**
 * How long a process goes on with what the transports below MPI owe each other, before it ends MPI: UCX over TCP
 * acknowledges transfers that are long done, and a process in MPI_Finalize answers no more.
 */
const QUIET_MS = 100;
/** How long a process that has ended well waits for the launcher to end it because another failed. */
const DEATH_MS = 10_000;
/** MPI's "none of the new groups". */
const UNDEFINED = -32766;

/** The port to the calling thread. */
export interface WorkerPort {
  postMessage(reply: Reply): void;
  /** The next command, if one is there. */
  take(): Command | null;
}

interface Running {
  readonly id: number;
  readonly task: Task;
}

/** The parts of a worker. */
export interface WorkerParts {
  readonly port: WorkerPort;
  readonly words: Int32Array;
  readonly mpi: MpiLibrary;
  readonly memory: NativeMemory;
  readonly control: ControlChannel;
  /** The ranks of the world. */
  readonly everyone: readonly number[];
  readonly patience: Patience;
  readonly agreement: Agreement;
  readonly collectives: Collectives;
  readonly transfers: Transfers;
  readonly yieldCore: () => void;
}

/** See the file header. */
export class Worker {
  /** By the number that the calling thread gave them. */
  readonly #groups = new Map<number, Group>();
  /** Those that were: ranks that are slower have yet to hear that all of their collectives are complete. */
  readonly #closed: Group[] = [];
  /** Operations that wait for the one before them, by group; the first of each runs. */
  readonly #lanes = new Map<number, Running[]>();
  /** Operations that run beside everything else. */
  #transfers: Running[] = [];
  readonly #pause: Pause;
  #lookedAt = 0;
  /** Communicators of all processes made so far. */
  #worlds = 0;

  constructor(private readonly parts: WorkerParts) {
    this.#pause = new Pause(parts.words, parts.yieldCore);
  }

  /** Works until the process ends. */
  serve(): void {
    const { words } = this.parts;
    for (;;) {
      const seen = Atomics.load(words, WORD.COMMANDS);
      this.#takeCommands();
      const leaving = Atomics.load(words, WORD.LEAVING);
      if (leaving === LEAVING.CLEANLY || leaving === LEAVING.FAILED) {
        this.#leave(leaving === LEAVING.FAILED);
        Atomics.store(words, WORD.LEAVING, LEAVING.DONE);
        Atomics.notify(words, WORD.LEAVING);
        return;
      }
      const progress = this.#advance();
      this.#look(progress === null ? IDLE_LOOK_MS : BUSY_LOOK_MS);
      if (progress !== null) this.#pause.take(progress, WORD.COMMANDS, seen);
      else {
        this.#pause.reset();
        const alone = this.parts.control.size === 1;
        Atomics.wait(words, WORD.COMMANDS, seen, alone ? undefined : IDLE_LOOK_MS);
      }
    }
  }

  #takeCommands(): void {
    for (;;) {
      const command = this.parts.port.take();
      if (command === null) return;
      this.#pause.reset();
      const { id } = command;
      try {
        const running = { id, task: this.#begin(command) };
        if (command.type === 'send' || command.type === 'receive') this.#transfers.push(running);
        else this.#lane(command.comm).push(running);
      } catch (error) {
        this.#answer({ id, failure: failureOf(error) });
      }
    }
  }

  #lane(comm: number): Running[] {
    const lane = this.#lanes.get(comm) ?? [];
    this.#lanes.set(comm, lane);
    return lane;
  }

  #begin(command: Command): Task {
    if (command.type === 'world') return this.#world(command);
    const group = this.#groups.get(command.comm);
    if (group === undefined)
      throw new WorkerFailure({
        code: 'distributed-unavailable',
        message: 'The process group has been destroyed.',
        hints: ['Use it before destroyProcessGroup(), or make another.'],
      });
    switch (command.type) {
      case 'collective':
        return this.parts.collectives.run(group, command);
      case 'send':
      case 'receive':
        return this.parts.transfers.run(group, command);
      case 'split':
        return this.#split(group, command);
      case 'close':
        return this.#close(group, command);
    }
  }

  /** Advances everything by a step. Returns what is waited for; null when nothing is left. */
  #advance(): Progress | null {
    let waits: Progress | null = null;
    const note = (progress: Progress | null): void => {
      if (progress === 'active' || waits === null) waits = progress ?? waits;
    };
    for (const lane of this.#lanes.values()) {
      while (lane.length > 0) {
        const progress = this.#step(lane[0]!);
        if (progress !== null) {
          note(progress);
          break;
        }
        lane.shift();
      }
    }
    if (this.#transfers.length > 0)
      this.#transfers = this.#transfers.filter((running) => {
        const progress = this.#step(running);
        note(progress);
        return progress !== null;
      });
    return waits;
  }

  /** One step of an operation; null when it is over, and answered. */
  #step({ id, task }: Running): Progress | null {
    try {
      const { done, value } = task.next();
      if (done !== true) return value;
      this.#answer({ id, failure: null });
    } catch (error) {
      this.#answer({ id, failure: failureOf(error) });
    }
    this.#pause.reset();
    return null;
  }

  #answer(reply: Reply): void {
    const { port, words } = this.parts;
    port.postMessage(reply);
    Atomics.add(words, WORD.REPLIES, 1);
    Atomics.notify(words, WORD.REPLIES);
  }

  *#world({ comm, timeoutMs }: Command & { type: 'world' }): Task {
    const { mpi, memory, patience } = this.parts;
    const cell = memory.cell(64);
    const request = memory.cell(64);
    mpi.call('Comm_idup', mpi.abi.world, cell.address, request.address);
    yield* completion(mpi, request, 'waiting', patience.checkStart(timeoutMs));
    const key = this.#worlds++ === 0 ? 'world' : `world#${this.#worlds}`;
    this.#groups.set(comm, new Group(mpi, memory, cell, key, this.parts.everyone, timeoutMs));
  }

  *#split(group: Group, command: Command & { type: 'split' }): Task {
    const { mpi, memory, agreement } = this.parts;
    group.begun++;
    group.last = command.print;
    yield* agreement.reach(group, `${group.begun} ${command.print}`);
    const place = command.ranks.indexOf(group.rank);
    const cell = memory.cell(64);
    const color = place < 0 ? UNDEFINED : 0;
    mpi.call('Comm_split', group.comm, color, Math.max(place, 0), cell.address);
    group.completed = group.begun;
    group.splits++;
    if (place < 0) return;
    const ranks = command.ranks.map((rank) => group.worldRanks[rank]!);
    const key = `${group.key}.${group.splits}`;
    this.#groups.set(command.made, new Group(mpi, memory, cell, key, ranks, command.timeoutMs));
  }

  *#close(group: Group, command: Command & { type: 'close' }): Task {
    const { mpi, agreement } = this.parts;
    if (group.broken === null) {
      group.begun++;
      group.last = command.print;
      yield* agreement.reach(group, `${group.begun} ${command.print}`);
      group.completed = group.begun;
      group.free(mpi);
    }
    this.#groups.delete(command.comm);
    this.#closed.push(group);
  }

  /** Looks for messages of other workers, unless it has lately. */
  #look(everyMs: number): void {
    const now = performance.now();
    if (now - this.#lookedAt < everyMs) return;
    this.#lookedAt = now;
    const { control } = this.parts;
    for (let got = control.receive(); got !== null; got = control.receive())
      this.#hear(got.from, got.message);
  }

  #hear(from: number, message: ControlMessage): void {
    const { control, patience } = this.parts;
    switch (message.type) {
      case 'where': {
        const position = this.#byKey(message.group)?.position ?? null;
        control.send(from, { type: 'here', group: message.group, position });
        return;
      }
      case 'here':
        patience.heard(from, message.position);
        return;
      case 'broken': {
        const group = this.#byKey(message.group);
        if (group !== null) group.broken ??= message.failure;
        return;
      }
      case 'leaving':
        patience.departures.set(from, { ...message, at: performance.now() });
    }
  }

  #byKey(key: string): Group | null {
    for (const group of this.#groups.values()) if (group.key === key) return group;
    return null;
  }

  /** The process ends: the others hear of it, and those that end well wait for each other. */
  #leave(failed: boolean): void {
    const { control, mpi, memory } = this.parts;
    const unfinished =
      this.#transfers.length > 0 || [...this.#lanes.values()].some((lane) => lane.length > 0);
    const broken = [...this.#groups.values()].some((group) => group.broken !== null);
    const groups = Object.fromEntries(
      [...this.#closed, ...this.#groups.values()].map(({ key, begun, completed }) => [
        key,
        { begun, completed },
      ]),
    );
    control.sendToAll({ type: 'leaving', failed, groups });
    const until = performance.now() + LAST_WORDS_MS;
    while (!control.flushed && performance.now() < until) this.parts.yieldCore();
    if (failed || unfinished || broken) return;
    this.#finalize(memory, mpi);
  }

  /** Ends MPI once all processes are about to, answering them meanwhile. */
  #finalize(memory: NativeMemory, mpi: MpiLibrary): void {
    const { control, patience } = this.parts;
    if (control.size > 1) {
      const request = memory.cell(64);
      mpi.call('Ibarrier', control.comm, request.address);
      // Where another process has failed, the launcher ends this one: a process that ends well by itself, and has
      // not ended MPI, would hide that. It waits a while for its end.
      let stop = Infinity;
      const othersFail = (): null => {
        for (const { failed, at } of patience.departures.values())
          if (failed) stop = Math.min(stop, at + DEATH_MS);
        return null;
      };
      this.#pause.reset();
      for (const progress of completion(mpi, request, 'waiting', othersFail)) {
        if (performance.now() > stop) return;
        this.#look(BUSY_LOOK_MS);
        this.#pause.take(progress, WORD.COUNT - 1, 0);
      }
      // Everybody has said farewell by now: MPI complains of messages that nobody took.
      const until = performance.now() + LAST_WORDS_MS;
      while (patience.departures.size < control.size - 1 && performance.now() < until) {
        this.#look(0);
        this.parts.yieldCore();
      }
      const quiet = performance.now() + QUIET_MS;
      while (performance.now() < quiet) {
        this.#look(0);
        this.parts.yieldCore();
      }
      // All at the same moment: who is in MPI_Finalize answers only those who are.
      const together = memory.cell(64);
      mpi.call('Ibarrier', control.comm, together.address);
      for (const _ of completion(mpi, together, 'active', othersFail))
        if (performance.now() > stop) return;
    }
    mpi.call('Finalize');
  }
}
