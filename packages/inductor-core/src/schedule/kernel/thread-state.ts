/**
 * @file What one thread of `interpretScheduled` has: variables, the state of accumulators, results.
 */
import type { Size } from '@tessera/shared';
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
      else if (kind === 'part') for (const run of this.parts(name, elements)) run.part();
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

  /** The parts of an accumulator, at least those of elements that have states of their own. */
  parts(name: string, elements: readonly Element[] = ALONE): ReductionRun[] {
    const runs = this.runs.get(name)!;
    const count = this.apart.has(name) ? elements.at(-1)!.number + 1 : 1;
    for (let i = 0; i < Math.max(runs.length, count); i++) runs[i] ??= this.fresh(name);
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

/** A part in an array. */
interface Cell {
  readonly value: number;
  readonly count: number;
}

/** The arrays of one instance: cells of shared arrays have a part for each element of a vector, of scratch arrays one. */
export class SharedMemory {
  private readonly arrays = new Map<string, Cell[][]>();

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly size: (size: Size) => number,
    private readonly fail: (what: string) => never,
  ) {}

  /** Writes a thread's parts, or reads parts in place of or into them; each register has an array of its own. */
  pass(
    thread: ThreadState,
    { kind, of, arrays }: Omit<ShareStmt, 'kind'> & { readonly kind: 'share' | 'fetch' | 'merge' },
    elements: readonly Element[],
    place: (element: Element) => number,
  ): void {
    const parts = thread.parts(of, elements);
    const isApart = this.scheduled.scratch?.some(({ name }) => name === arrays[0]) ?? false;
    const visit = (run: ReductionRun, at: number, number: number): void => {
      const cells = arrays.map((array) => this.cellsOf(array, at));
      if (kind === 'share') {
        const values = run.current();
        cells.forEach((cell, j) => (cell[number] = { value: values[j]!, count: run.count }));
        return;
      }
      const found = cells.map((cell) => {
        if (cell[number] === undefined)
          this.fail(`${kind} ${of} reads ${arrays.join()}[${at}], which nobody wrote`);
        return cell[number];
      });
      const values = found.map(({ value }) => value);
      if (kind === 'merge') run.merge(values, found[0]!.count);
      else run.replace(values, found[0]!.count);
    };
    if (isApart) for (const each of elements) visit(parts[each.number]!, place(each), 0);
    else parts.forEach((run, number) => visit(run, place(elements[0]!), number));
  }

  private cellsOf(array: string, place: number): Cell[] {
    const { shared, scratch = [] } = this.scheduled;
    const declared = [...shared, ...scratch].find(({ name }) => name === array);
    if (declared === undefined || place < 0 || place >= this.size(declared.length))
      this.fail(`${array}[${place}] is outside of what is declared`);
    if (!this.arrays.has(array)) this.arrays.set(array, []);
    return (this.arrays.get(array)![place] ??= []);
  }
}
