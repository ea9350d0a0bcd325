/**
 * @file `verifyScheduled`: the invariants of scheduled-kernel.ts as an executable specification.
 *
 * Runs after each rewrite in tests. Emitters may rely on everything that is checked here: variables and tests are known
 * where they are used; an accumulator is started, updated, parted and finished in this order, and its results are read
 * after that; vectors are not nested; all threads reach every barrier and exchange; parts and arrays fit each other; and
 * everything that the fused kernel stores and reduces is there.
 */
import { TesseraError } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { kernelStmts } from '../../ir/kernel-parts.js';
import { indexOf, indexSymbols, indexValues, postorder } from '../../ir/walk.js';
import { asIndex } from './places.js';
import { printScheduled } from './print-scheduled.js';
import type { Routine } from './registers.js';
import type {
  Condition,
  KeptStmt,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
} from './scheduled-kernel.js';
import { BlockVerifier } from './verify-blocks.js';
import { RegisterVerifier } from './verify-registers.js';

/** How far an accumulator is. */
type Progress = 'declared' | 'started' | 'parted' | 'shared' | 'finished';

/** There are parts. */
const PARTED: readonly Progress[] = ['parted', 'shared'];

const AFTER: Readonly<
  Record<string, { readonly from: readonly Progress[]; readonly to: Progress }>
> = {
  start: { from: ['declared', 'started', 'shared', 'finished'], to: 'started' },
  update: { from: ['started'], to: 'started' },
  settle: { from: ['started'], to: 'started' },
  part: { from: ['started'], to: 'parted' },
  fold: { from: PARTED, to: 'parted' },
  share: { from: PARTED, to: 'shared' },
  fetch: { from: [...PARTED, 'finished'], to: 'parted' },
  merge: { from: PARTED, to: 'parted' },
  exchange: { from: PARTED, to: 'parted' },
  finish: { from: PARTED, to: 'finished' },
};

class Verifier {
  /** Variables and tests in scope, and which of them may differ between the threads of an instance. */
  private readonly known = new Map<string, boolean>();
  private readonly progress = new Map<string, Progress>();
  private readonly results = new Set<number>();
  private readonly stored = new Set<string>();
  /** Values with the array that each was kept in, and those that are recalled here. */
  private readonly kept = new Map<Expr, string>();
  private readonly recalled = new Set<Expr>();
  /** Arrays that products go to. */
  private readonly summed: ReadonlySet<string>;
  private inVector = false;
  /** Whether threads may be in different places. */
  private diverged = false;
  private readonly registers: RegisterVerifier;
  private readonly blocks: BlockVerifier;
  /** The routine whose body this is. */
  private inside: Routine | null = null;

  constructor(private readonly scheduled: ScheduledKernel) {
    this.registers = new RegisterVerifier(scheduled, this);
    this.blocks = new BlockVerifier(scheduled, this);
    this.summed = new Set(scheduled.products?.map(({ to }) => to));
  }

  fail(what: string): never {
    throw new TesseraError(
      'plan-invalid',
      `The schedule of kernel '${this.scheduled.kernel.name}' is malformed: ${what}.\n${printScheduled(this.scheduled)}`,
      {
        context: { kernel: this.scheduled.kernel.name },
        hints: ['This is a bug of the schedule; please report it with the kernel.'],
      },
    );
  }

  run(): void {
    const { grid, threads, accumulators, body, kernel, routines = [] } = this.scheduled;
    for (const { name, reduction, ids } of accumulators) {
      if (this.progress.has(name)) this.fail(`two accumulators are called '${name}'`);
      this.progress.set(name, 'declared');
      if (reduction.finish.length !== ids.length)
        this.fail(`'${name}' gives ${ids.length} results`);
    }
    for (const routine of routines) this.routine(routine);
    this.known.set(grid.name, false);
    if (grid.runs !== undefined) this.known.set(grid.runs.name, false);
    if (threads !== undefined) {
      this.known.set(threads.name, true);
      this.known.set('subgroup_size', false);
    }
    this.body(body);
    if (grid.extent === 0) return;
    for (const stmt of kernelStmts(kernel))
      if (stmt.kind === 'store' && !this.stored.has(stmt.buf))
        this.fail(`nothing is stored in '${stmt.buf}'`);
  }

  private routine(routine: Routine): void {
    const { parameters, results, gives, body } = routine;
    for (const name of parameters) this.known.set(name, true);
    for (const id of results.keys()) this.results.add(id);
    this.inside = routine;
    this.diverged = true;
    this.body(body);
    const last = body.at(-1);
    const given = last?.kind === 'vector' ? last.body.at(-1) : last;
    if ((gives !== undefined) !== (given?.kind === 'give'))
      this.fail(`'${routine.name}' does not give what it says`);
    this.inside = null;
    this.diverged = false;
    this.results.clear();
    this.known.clear();
  }

  /** Statements in a scope of their own. */
  private body(body: ScheduledBody): void {
    const before = new Map(this.known);
    const recalled = new Set(this.recalled);
    for (const stmt of body) this.stmt(stmt);
    for (const name of [...this.known.keys()]) if (!before.has(name)) this.known.delete(name);
    for (const value of [...this.recalled]) if (!recalled.has(value)) this.recalled.delete(value);
  }

  /** Whether an index may differ between threads; all that it names must be known. */
  index(index: IndexExpr): boolean {
    let differs = false;
    for (const name of indexSymbols(index)) {
      if (!this.known.has(name)) this.fail(`variable '${name}' is used where it is not known`);
      differs ||= this.known.get(name)!;
    }
    for (const value of indexValues(index)) this.value(value);
    return differs || indexValues(index).length > 0;
  }

  private value(root: Expr): void {
    for (const expr of postorder([root], (each) => this.recalled.has(each))) {
      const index = indexOf(expr);
      if (index !== null) this.index(index);
      if (expr.kind === 'acc' && !this.results.has(expr.id))
        this.fail(`result ${expr.id} is read before it is known`);
    }
  }

  /** Whether conditions may hold for some threads only. */
  private conditions(all: readonly Condition[]): boolean {
    return all.map((each) => this.condition(each)).includes(true);
  }

  private condition(each: Condition): boolean {
    switch (each.kind) {
      case 'first':
        return this.index(each.index);
      case 'below':
        return [each.index, each.limit].map((index) => this.index(index)).includes(true);
      case 'test':
        if (!this.known.has(`?${each.name}`)) this.fail(`test '${each.name}' is not known here`);
        return this.known.get(`?${each.name}`)!;
      case 'call':
        if (this.registers.routine(each).gives !== 'bool')
          this.fail(`'${each.routine}' gives no condition`);
        return true;
      case 'exceeds':
        for (const value of [each.value, each.limit]) this.registers.width(value);
        return true;
      case 'not':
        return this.condition(each.of);
      case 'either':
        return this.conditions(each.of);
    }
  }

  /** A body that only some threads may visit, or not equally often. */
  private within(differs: boolean, visit: () => void): void {
    const before = this.diverged;
    this.diverged ||= differs;
    visit();
    this.diverged = before;
  }

  private advance(kind: string, name: string): void {
    const now = this.progress.get(name);
    if (now === undefined) this.fail(`there is no accumulator '${name}'`);
    const step = AFTER[kind]!;
    if (!step.from.includes(now)) this.fail(`'${kind} ${name}' where it is ${now}`);
    this.progress.set(name, step.to);
  }

  private accumulator(name: string): ScheduledKernel['accumulators'][number] {
    return this.scheduled.accumulators.find((each) => each.name === name)!;
  }

  private stmt(stmt: ScheduledStmt): void {
    switch (stmt.kind) {
      case 'let':
        this.known.set(
          stmt.name,
          [stmt.index, asIndex(stmt.atMost ?? 0)].map((each) => this.index(each)).includes(true),
        );
        return;
      case 'test':
        this.known.set(`?${stmt.name}`, this.conditions(stmt.all));
        return;
      case 'exit':
        this.diverged ||= this.conditions(stmt.unless);
        return;
      case 'loop': {
        const ranges = [stmt.begin, ...stmt.ends].map((each) => this.index(each));
        const only = stmt.only !== undefined && this.conditions([stmt.only]);
        const differs = only || ranges.includes(true);
        if (stmt.unrolled && [stmt.begin, ...stmt.ends].some(({ kind }) => kind !== 'int'))
          this.fail(`'${stmt.name}' is unrolled, but its ends are no numbers`);
        const before = this.known.get(stmt.name);
        this.known.set(stmt.name, differs);
        this.within(differs, () => this.body(stmt.body));
        if (before === undefined) this.known.delete(stmt.name);
        else this.known.set(stmt.name, before);
        return;
      }
      case 'when':
        return this.within(this.conditions(stmt.all), () => {
          this.body(stmt.body);
          this.body(stmt.otherwise ?? []);
        });
      case 'once':
        return this.once(stmt);
      case 'vector': {
        const { lane, across, valid } = stmt.lanes;
        if (this.inVector) this.fail('a vector is inside another one');
        for (const name of [lane, across])
          if (!this.known.has(name)) this.fail(`variable '${name}' of a vector is not known`);
        if (typeof valid !== 'number') this.index(valid.index);
        this.inVector = true;
        this.body(stmt.body);
        this.inVector = false;
        return;
      }
      case 'point':
        return this.body(stmt.body);
      case 'start':
      case 'settle':
      case 'part':
      case 'fold':
        for (const name of stmt.of) this.advance(stmt.kind, name);
        return;
      case 'finish':
        for (const name of stmt.of) {
          this.advance(stmt.kind, name);
          for (const id of this.accumulator(name).ids) this.results.add(id);
        }
        return;
      case 'update': {
        this.advance(stmt.kind, stmt.of);
        this.value(stmt.value);
        this.index(stmt.at);
        const { running, ids } = this.accumulator(stmt.of);
        if (running === true) for (const id of ids) this.results.add(id);
        return;
      }
      case 'share':
      case 'fetch':
      case 'merge': {
        this.advance(stmt.kind, stmt.of);
        this.index(stmt.at);
        if (stmt.arrays.length !== this.accumulator(stmt.of).reduction.part.length)
          this.fail(`'${stmt.of}' has not as many parts as arrays`);
        const { shared, scratch = [] } = this.scheduled;
        for (const array of stmt.arrays)
          if (![...shared, ...scratch].some(({ name }) => name === array))
            this.fail(`there is no array '${array}'`);
        return;
      }
      case 'exchange':
        for (const name of stmt.of) this.advance(stmt.kind, name);
        this.index(stmt.among);
        return this.meet('exchange');
      case 'barrier':
        return this.meet('barrier');
      case 'ask':
        for (const each of stmt.of) this.value(each);
        return;
      case 'keep':
      case 'recall':
        return this.keep(stmt);
      case 'give':
        if (this.inside?.gives === undefined) this.fail('nobody takes what is given');
        this.value(stmt.value);
        if (stmt.where !== undefined) this.condition(stmt.where);
        return;
      case 'mark':
        this.registers.cell(stmt.cell);
        this.condition(stmt.where);
        return;
      case 'agree':
        this.registers.cell(stmt.cell);
        this.known.set(`?${stmt.name}`, false);
        return this.meet('agreement');
      case 'clear':
      case 'set':
      case 'add':
      case 'multiply':
      case 'write':
      case 'visit':
      case 'pair':
        this.registers.stmt(stmt);
        if (stmt.kind === 'pair') this.meet('pair');
        return;
      case 'pack':
      case 'arrange':
      case 'product':
        return this.blocks.stmt(stmt);
      case 'store':
        this.value(stmt.value);
        this.index(stmt.index);
        this.writes(stmt.buf);
    }
  }

  /** What it makes must be the same wherever it is made. */
  private once({ of, body }: Extract<ScheduledStmt, { kind: 'once' }>): void {
    const differs = this.index(of);
    const before = new Map(this.known);
    const own = indexSymbols(of);
    for (const name of before.keys()) if (!own.has(name)) this.known.delete(name);
    this.within(differs, () => this.body(body));
    for (const [name, value] of before) this.known.set(name, value);
  }

  /** Refuses a buffer or an array that nothing may be stored to. */
  writes(buf: string): void {
    const { kernel } = this.scheduled;
    if (this.isScratch(buf)) return;
    const param = kernel.params.find(({ name }) => name === buf);
    if (param === undefined || param.access === 'read')
      this.fail(`'${buf}' is no buffer to store to`);
    this.stored.add(buf);
  }

  isScratch(array: string): boolean {
    return this.scheduled.scratch?.some(({ name }) => name === array) === true;
  }

  private keep({ kind, value, array, at }: KeptStmt): void {
    const declared = this.scheduled.scratch?.find(({ name }) => name === array);
    if (declared === undefined) this.fail(`there is no scratch array '${array}'`);
    this.index(at);
    if (kind === 'keep') {
      this.value(value);
      this.kept.set(value, array);
      return;
    }
    const isKept = value.kind === 'acc' ? this.summed.has(array) : this.kept.get(value) === array;
    if (!isKept) this.fail(`'${array}' is recalled where nothing was kept`);
    this.recalled.add(value);
  }

  private meet(what: string): void {
    if (this.diverged) this.fail(`not all threads may reach a ${what}`);
  }
}

/** Checks a scheduled kernel. @throws plan-invalid */
export function verifyScheduled(scheduled: ScheduledKernel): void {
  new Verifier(scheduled).run();
}
