/**
 * @file `interpretScheduled`: runs a scheduled kernel on plain arrays, statement by statement.
 *
 * The definition of what the statements mean, for tests: a schedule is right if this gives what `interpretKernel` gives
 * for the fused kernel. Threads take turns and wait for each other at barriers and exchanges.
 */
import { type Size, TesseraError } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { storeEffect } from '../../ir/interpret-body.js';
import { type BufferData, Frame, Program } from '../../ir/interpret-program.js';
import type { SizeValue } from '../../ir/kernel-at.js';
import type {
  Accumulator,
  Condition,
  Lanes,
  LoopStmt,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
} from './scheduled-kernel.js';
import { BlockMemory } from './block-memory.js';
import { asIndex } from './places.js';
import type { RoutineCall } from './registers.js';
import { CellMemory, type RegisterThread } from './thread-registers.js';
import { ALONE, type Element, type Part, SharedMemory, ThreadState } from './thread-state.js';
import { elementsOf } from './vector-elements.js';

/** What a kernel runs on. */
export interface ScheduledRun {
  readonly buffers: Readonly<Record<string, BufferData>>;
  readonly scalars?: Readonly<Record<string, number>>;
  /** Values of symbolic sizes. */
  readonly sizes?: SizeValue;
  /** Threads that exchange parts directly: the variable `subgroup_size`. */
  readonly subgroupSize?: number;
}

/** Why a thread waits: for all others to be there, or for what they exchange. */
type Wait = 'barrier' | { readonly exchanged: readonly Part[] };
/** A thread; it is given what all exchanged, and gives whether it has more to do. */
type Running = Generator<Wait, boolean, readonly (readonly Part[])[]>;
type Store = Extract<ScheduledStmt, { kind: 'store' }>;

interface CompiledValue {
  readonly program: Program;
  readonly cell: () => number;
}

class Interpreter {
  private readonly frame: Frame;
  /** Programs by what they compute, and by the last of the values that are recalled there. */
  private readonly compiled = new Map<object | null, Map<object, CompiledValue>>();
  private readonly effects = new Map<Store, () => void>();
  private readonly scratch: ReadonlyMap<string, number[]>;
  private readonly accumulators: ReadonlyMap<string, Accumulator>;
  private readonly fail = (what: string): never => this.frame.fail(what);
  private memory: SharedMemory;
  private cells: CellMemory;
  private readonly blocks: BlockMemory;
  /** What `once` was visited with last. */
  private readonly visited = new Map<ScheduledStmt, number>();
  /** What a store writes where. */
  private written = { value: 0, index: 0 };

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly run: ScheduledRun,
  ) {
    const number = (size: Size): number =>
      typeof size === 'number' ? size : (run.sizes?.(size) ?? NaN);
    this.scratch = new Map(
      (scheduled.scratch ?? []).map(({ name, length }) => [name, Array(number(length)).fill(NaN)]),
    );
    this.frame = new Frame(
      scheduled.kernel,
      new Map<string, BufferData>([...Object.entries(run.buffers), ...this.scratch]),
      new Map(Object.entries(run.scalars ?? {})),
      run.sizes ?? null,
    );
    this.accumulators = new Map(scheduled.accumulators.map((each) => [each.name, each]));
    this.memory = new SharedMemory(scheduled, (size) => this.size(size), this.fail);
    this.cells = new CellMemory(scheduled, this.fail);
    this.blocks = new BlockMemory(scheduled, this.frame);
  }

  runAll(): void {
    const { grid, threads, body } = this.scheduled;
    // One too many, where that may happen.
    const instances = this.size(grid.extent) + (grid.surplus === true ? 1 : 0);
    const { name: runs, within = 1, most = 1 } = grid.runs ?? {};
    for (let instance = 0, run = 1; instance < instances; instance += run) {
      const same = this.size(within) - (instance % this.size(within));
      run = Math.min(instances - instance, same, most);
      this.memory = new SharedMemory(this.scheduled, (size) => this.size(size), this.fail);
      this.cells = new CellMemory(this.scheduled, this.fail);
      for (const { name, lasts } of this.scheduled.scratch ?? [])
        if (lasts !== true) this.scratch.get(name)!.fill(NaN);
      const all = Array.from({ length: threads?.extent ?? 1 }, (_, number) => {
        const thread = new ThreadState(this.accumulators);
        thread.variables.set(grid.name, instance);
        if (runs !== undefined) thread.variables.set(runs, run);
        if (threads !== undefined) thread.variables.set(threads.name, number);
        thread.variables.set('subgroup_size', this.run.subgroupSize ?? 1);
        return this.body(thread, body, ALONE);
      });
      this.together(all);
    }
  }

  /** Runs threads, each up to where it waits, until all are over. */
  private together(threads: readonly Running[]): void {
    let exchanged: readonly (readonly Part[])[] = [];
    for (;;) {
      const steps = threads.map((thread) => thread.next(exchanged));
      const waiting = steps.filter((step) => step.done !== true);
      if (waiting.length === 0) return;
      if (waiting.length !== steps.length) this.fail('some threads wait, others are over');
      exchanged = steps.map(({ value }) => (typeof value === 'object' ? value.exchanged : []));
    }
  }

  private size(size: Size): number {
    return typeof size === 'number' ? size : this.frame.size(size);
  }

  /** Evaluates for one element of a thread; `key` is what the compiled form is kept under. */
  private evaluate(
    key: object,
    compile: (program: Program) => () => number,
    thread: ThreadState,
    element: Element,
  ): number {
    const where = thread.recalled.at(-1) ?? null;
    let compiled = this.compiled.get(where);
    if (compiled === undefined) this.compiled.set(where, (compiled = new Map()));
    let found = compiled.get(key);
    if (found === undefined) {
      const program = new Program(this.frame);
      for (const { value, array, at } of thread.recalled)
        program.read(value, this.scratch.get(array)!, program.indexCell(at));
      compiled.set(key, (found = { program, cell: compile(program) }));
    }
    for (const [name, value] of thread.variables)
      this.frame.variable(name).value = value + (element.offsets.get(name) ?? 0);
    for (const [id, values] of thread.results)
      this.frame.acc(id).value = values[values.length === 1 ? 0 : element.number]!;
    found.program.run();
    return found.cell();
  }

  private index(index: IndexExpr, thread: ThreadState, element: Element = ALONE[0]!): number {
    return this.evaluate(index, (program) => program.indexCell(index), thread, element);
  }

  private value(expr: Expr, thread: ThreadState, element: Element): number {
    return this.evaluate(expr, (program) => program.compile(expr), thread, element);
  }

  private holds(all: readonly Condition[], thread: ThreadState, element?: Element): boolean {
    return all.every((each): boolean => {
      switch (each.kind) {
        case 'test':
          return thread.tests.get(each.name)!;
        case 'first':
          return this.index(each.index, thread, element) === 0;
        case 'below':
          return this.index(each.index, thread, element) < this.index(each.limit, thread, element);
        case 'call':
          return this.call(thread, each)[0] !== 0;
        case 'exceeds': {
          const registers = this.registersOf(thread);
          const [value, limit] = [each.value, each.limit].map((of) =>
            this.cells.value(registers, of),
          );
          return value!.some((one, i) => one > limit![limit!.length === 1 ? 0 : i]!);
        }
        case 'not':
          return !this.holds([each.of], thread, element);
        case 'either':
          return each.of.some((one) => this.holds([one], thread, element));
      }
    });
  }

  /** Visits a routine with results: what it gives. */
  private call(
    thread: ThreadState,
    { routine: name, at, of = [] }: Pick<RoutineCall, 'routine' | 'at' | 'of'>,
  ): readonly number[] {
    const { parameters, body } = this.scheduled.routines!.find((each) => each.name === name)!;
    const variables = new Map(thread.variables);
    const places = at.map((index) => this.index(index, thread));
    const registers = this.registersOf(thread);
    const handed = of.map((value) => this.cells.value(registers, value));
    parameters.forEach((parameter, i) => thread.variables.set(parameter, places[i]!));
    handed.forEach((result, id) => thread.results.set(id, [...result]));
    if (this.body(thread, body, ALONE).next([]).done !== true) this.fail(`'${name}' waits`);
    thread.variables.clear();
    for (const [variable, value] of variables) thread.variables.set(variable, value);
    return thread.given;
  }

  /** A value that may be of an element beyond the end of its buffer: then it is no number. */
  private perhaps(expr: Expr, thread: ThreadState, element: Element): number {
    try {
      return this.value(expr, thread, element);
    } catch (error) {
      if (error instanceof TesseraError) return NaN;
      throw error;
    }
  }

  private registersOf(thread: ThreadState): RegisterThread {
    return {
      registers: thread.registers,
      index: (index) => this.index(index, thread),
      call: (call) => this.call(thread, call),
    };
  }

  private elements(lanes: Lanes, thread: ThreadState): Element[] {
    const place = (index: IndexExpr, each: Element): number => this.index(index, thread, each);
    return elementsOf(lanes, place, (size) => this.size(size));
  }

  /** Runs statements; gives whether the thread goes on. */
  private *body(thread: ThreadState, body: ScheduledBody, elements: readonly Element[]): Running {
    const { recalled } = thread;
    for (const stmt of body) if (!(yield* this.stmt(thread, stmt, elements))) return false;
    thread.recalled = recalled;
    return true;
  }

  private *stmt(thread: ThreadState, stmt: ScheduledStmt, elements: readonly Element[]): Running {
    switch (stmt.kind) {
      case 'let': {
        const all = [stmt.index, ...(stmt.atMost === undefined ? [] : [asIndex(stmt.atMost)])];
        const values = elements.map((each) =>
          Math.min(...all.map((one) => this.index(one, thread, each))),
        );
        const [first = 0] = values;
        thread.variables.set(stmt.name, first);
        if (elements !== ALONE)
          elements.forEach(({ offsets }, i) => offsets.set(stmt.name, values[i]! - first));
        return true;
      }
      case 'test':
        thread.tests.set(stmt.name, this.holds(stmt.all, thread));
        return true;
      case 'exit':
        return this.holds(stmt.unless, thread);
      case 'loop':
        return yield* this.loop(thread, stmt, elements);
      case 'when': {
        const met = this.holds(stmt.all, thread);
        return yield* this.body(thread, met ? stmt.body : (stmt.otherwise ?? []), elements);
      }
      case 'once': {
        const of = this.index(stmt.of, thread);
        if (this.visited.get(stmt) === of) return true;
        this.visited.set(stmt, of);
        return yield* this.body(thread, stmt.body, elements);
      }
      case 'vector':
        return yield* this.body(thread, stmt.body, this.elements(stmt.lanes, thread));
      case 'point':
        return yield* this.body(thread, stmt.body, elements);
      case 'barrier':
        yield 'barrier';
        return true;
      case 'ask':
        return true;
      case 'exchange': {
        const parts = stmt.of.flatMap((name) => thread.parts(name));
        const number = thread.variables.get(this.scheduled.threads!.name)!;
        const among = this.index(stmt.among, thread);
        for (let mask = 1; mask < among; mask *= 2) {
          const own = parts.map((run): Part => ({ values: run.current(), count: run.count }));
          const other = (yield { exchanged: own })[number ^ mask]!;
          other.forEach(({ values, count }, i) => parts[i]!.merge(values, count));
        }
        return true;
      }
      case 'store':
        for (const element of elements) this.store(thread, stmt, element);
        return true;
      case 'keep':
        for (const element of elements) {
          const at = this.index(stmt.at, thread, element);
          this.scratch.get(stmt.array)![at] = this.value(stmt.value, thread, element);
        }
        return true;
      case 'recall':
        thread.recalled = [...thread.recalled, stmt];
        return true;
      case 'update':
        for (const element of elements) {
          const value = this.value(stmt.value, thread, element);
          thread.update(stmt.of, element, value, this.index(stmt.at, thread, element));
        }
        return true;
      case 'share':
      case 'fetch':
      case 'merge':
        this.memory.pass(thread, stmt, elements, (each) => this.index(stmt.at, thread, each));
        return true;
      case 'clear':
      case 'set':
      case 'add':
      case 'multiply':
      case 'write':
        this.cells.run(this.registersOf(thread), stmt);
        return true;
      case 'visit':
        this.call(thread, stmt);
        return true;
      case 'pack':
      case 'arrange':
      case 'product':
        this.blocks.run(stmt, {
          index: (index) => this.index(index, thread),
          set: (name, at) => thread.variables.set(name, at),
          value: (value) => this.value(value, thread, ALONE[0]!),
        });
        return true;
      case 'pair': {
        const own = stmt.of.map((name): Part => ({
          values: thread.registers.get(name)!,
          count: 0,
        }));
        const number = thread.variables.get(this.scheduled.threads!.name)!;
        const other = (yield { exchanged: own })[number ^ stmt.bit]!;
        this.cells.pair(
          this.registersOf(thread),
          stmt,
          other.map(({ values }) => values),
        );
        return true;
      }
      case 'give':
        thread.given = elements.map((element) =>
          stmt.where === undefined || this.holds([stmt.where], thread, element)
            ? this.perhaps(stmt.value, thread, element)
            : (stmt.otherwise ?? 0),
        );
        return true;
      case 'mark':
        if (this.holds([stmt.where], thread)) this.cells.mark(this.registersOf(thread), stmt.cell);
        return true;
      case 'agree':
        yield 'barrier';
        thread.tests.set(stmt.name, this.cells.isMarked(this.registersOf(thread), stmt.cell));
        return true;
      default:
        thread.accumulate(stmt, elements);
        return true;
    }
  }

  private *loop(
    thread: ThreadState,
    { name, begin, ends, pace, only, body }: LoopStmt,
    elements: readonly Element[],
  ): Running {
    if (only !== undefined && !this.holds([only], thread)) return true;
    const limit = Math.min(...ends.map((end) => this.index(end, thread)));
    let at = this.index(begin, thread);
    while (pace === 'halve' ? at > 0 : at < limit) {
      thread.variables.set(name, at);
      if (!(yield* this.body(thread, body, elements))) return false;
      at = pace === 'halve' ? at >> 1 : at + pace;
    }
    return true;
  }

  private store(thread: ThreadState, stmt: Store, element: Element): void {
    const value = this.value(stmt.value, thread, element);
    const index = this.index(stmt.index, thread, element);
    let effect = this.effects.get(stmt);
    if (effect === undefined) {
      const [read, at] = [() => this.written.value, () => this.written.index];
      this.effects.set(stmt, (effect = storeEffect(this.frame, stmt, read, at)));
    }
    this.written = { value, index };
    effect();
  }
}

/**
 * Runs a scheduled kernel; written buffers are changed in place.
 *
 * @throws plan-invalid as `interpretKernel`, and where a thread waits for one that is over
 */
export function interpretScheduled(scheduled: ScheduledKernel, run: ScheduledRun): void {
  new Interpreter(scheduled, run).runAll();
}
