/**
 * @file What one thread of `interpretScheduled` has: variables, the state of accumulators, results.
 */
import { toComputeType } from '../../ir/scalar-eval.js';
import { ReductionRun } from '../run-reduction.js';
import type {
  Accumulator,
  KeptStmt,
  ScheduledKernel,
  ScheduledStmt,
  ShareStmt,
} from './scheduled-kernel.js';

/** One element of a vector: its number, and how far variables are on. */
export interface Element {
  readonly number: number;
  readonly offsets: Map<string, number>;
}

/** Outside of vectors. */
export const ALONE: readonly Element[] = [{ number: 0, offsets: new Map() }];

/** What a part handed over, with the number of values in it. */
export interface Part {
  readonly values: readonly number[];
  readonly count: number;
}

/** Statements about whole accumulators. */
type AccumulatorStmt = Extract<
  ScheduledStmt,
  { kind: 'start' | 'settle' | 'part' | 'fold' | 'finish' }
>;

/** See the file header. */
export class ThreadState {
  readonly variables: Map<string, number> = new Map();
  readonly tests: Map<string, boolean> = new Map();
  readonly registers: Map<string, readonly number[]> = new Map();
  /** What the last routine gave. */
  given: readonly number[] = [];
  /** Values that are what was kept of them. */
  recalled: readonly KeptStmt[] = [];
  /** Results by element; one for all where there is one. */
  readonly results: Map<number, number[]> = new Map();
  /** Runs of each accumulator by number of the element. */
  private readonly runs = new Map<string, ReductionRun[]>();
  /** Accumulators that were started in a vector: each element has a state of its own. */
  private readonly apart = new Set<string>();

  constructor(private readonly accumulators: ReadonlyMap<string, Accumulator>) {}

  accumulate({ kind, of }: AccumulatorStmt, elements: readonly Element[]): void {
    for (const name of of) {
      if (kind === 'start') this.start(name, elements !== ALONE);
      else if (kind === 'settle') for (const run of this.parts(name)) run.settle();
      else if (kind === 'part') for (const run of this.parts(name)) run.part();
      else if (kind === 'fold') this.fold(name);
      else this.finish(name);
    }
  }

  /** Takes in a value at a place. */
  update(name: string, element: Element, value: number, at: number): void {
    const accumulator = this.accumulators.get(name)!;
    const isRunning = accumulator.running === true;
    const number = !isRunning || this.apart.has(name) ? element.number : 0;
    const run = (this.runs.get(name)![number] ??= this.fresh(name));
    run.add(value, at);
    if (!isRunning) return;
    run.part();
    this.know(accumulator, run.finish(), element.number);
  }

  /** The parts of an accumulator. */
  parts(name: string): ReductionRun[] {
    const runs = this.runs.get(name)!;
    for (let i = 0; i < Math.max(runs.length, 1); i++) runs[i] ??= this.fresh(name);
    return runs;
  }

  private start(name: string, isApart: boolean): void {
    this.runs.set(name, []);
    if (isApart) this.apart.add(name);
    else this.apart.delete(name);
  }

  private fresh(name: string): ReductionRun {
    const run = new ReductionRun(this.accumulators.get(name)!.reduction);
    run.reset();
    return run;
  }

  private fold(name: string): void {
    const [first, ...others] = this.parts(name);
    for (const other of others) first!.merge(other.current(), other.count);
    this.runs.set(name, [first!]);
  }

  private finish(name: string): void {
    const accumulator = this.accumulators.get(name)!;
    for (const id of accumulator.ids) this.results.delete(id);
    this.parts(name).forEach((run, number) => this.know(accumulator, run.finish(), number));
  }

  private know({ ids, dtype }: Accumulator, results: readonly number[], number: number): void {
    ids.forEach((id, i) => {
      if (!this.results.has(id)) this.results.set(id, []);
      this.results.get(id)![number] = toComputeType(results[i]!, dtype);
    });
  }
}

/** The arrays of one instance, by element of what lies in them. */
export class SharedMemory {
  private readonly arrays = new Map<
    string,
    { readonly value: number; readonly count: number }[][]
  >();

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly fail: (what: string) => never,
  ) {}

  /** Writes a thread's parts, or reads parts in place of or into them; each register has an array of its own. */
  pass(
    thread: ThreadState,
    { kind, of, arrays }: Omit<ShareStmt, 'kind'> & { readonly kind: 'share' | 'fetch' | 'merge' },
    place: number,
  ): void {
    const cells = arrays.map((array) => this.cellsOf(array, place));
    thread.parts(of).forEach((run, element) => {
      if (kind === 'share') {
        const values = run.current();
        cells.forEach((cell, j) => (cell[element] = { value: values[j]!, count: run.count }));
        return;
      }
      const found = cells.map((cell) => {
        if (cell[element] === undefined)
          this.fail(`${kind} ${of} reads ${arrays.join()}[${place}], which nobody wrote`);
        return cell[element]!;
      });
      const values = found.map(({ value }) => value);
      if (kind === 'merge') run.merge(values, found[0]!.count);
      else run.replace(values, found[0]!.count);
    });
  }

  private cellsOf(array: string, place: number): { value: number; count: number }[] {
    const declared = this.scheduled.shared.find(({ name }) => name === array);
    if (declared === undefined || place < 0 || place >= declared.length)
      this.fail(`${array}[${place}] is outside of what is declared`);
    if (!this.arrays.has(array)) this.arrays.set(array, []);
    return (this.arrays.get(array)![place] ??= []);
  }
}
