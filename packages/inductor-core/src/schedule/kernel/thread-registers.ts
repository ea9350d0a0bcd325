/**
 * @file Registers of one thread of `interpretScheduled`, and the cells of shared memory that the threads of an instance
 * have.
 */
import { toComputeType } from '../../ir/scalar-eval.js';
import type { Cell, RegisterOp, RegisterStmt, RegisterValue, RoutineCall } from './registers.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { ScheduledKernel } from './scheduled-kernel.js';

/** What of a thread is needed to run statements on registers. */
export interface RegisterThread {
  readonly registers: Map<string, readonly number[]>;
  index(index: IndexExpr): number;
  /** What a routine gives. */
  call(call: RoutineCall): readonly number[];
}

type RegisterOnlyStmt = Extract<
  RegisterStmt,
  { kind: 'clear' | 'set' | 'add' | 'multiply' | 'write' }
>;

/** What operations give for one element. */
const OPS: Readonly<Record<RegisterOp, (a: number, b: number, x: number, y: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  larger: (a, b) => Math.max(a, b),
  exp: Math.exp,
  'quick exp': Math.exp,
  log: Math.log,
  equal: (a, b, x, y) => (a === b ? x : y),
  greater: (a, b, x, y) => (a > b ? x : y),
};

/** An element of what is one value for all elements, or four. */
function elementOf(value: readonly number[], i: number): number {
  return value[value.length === 1 ? 0 : i]!;
}

/** The cells of one instance. */
export class CellMemory {
  private readonly cells = new Map<string, readonly number[]>();

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly fail: (what: string) => never,
  ) {}

  /** Whether a cell was marked. */
  isMarked(thread: RegisterThread, cell: Cell): boolean {
    return this.cells.has(this.place(thread, cell).key);
  }

  mark(thread: RegisterThread, cell: Cell): void {
    this.cells.set(this.place(thread, cell).key, []);
  }

  /** Runs a statement of a thread. */
  run(thread: RegisterThread, stmt: RegisterOnlyStmt): void {
    const { registers } = thread;
    const round = (value: number): number => toComputeType(value, this.scheduled.registers!);
    const sum = (name: string, value: (i: number) => number): void => {
      registers.set(
        name,
        this.register(thread, name).map((x, i) => round(x + value(i))),
      );
    };
    switch (stmt.kind) {
      case 'clear':
        for (const name of stmt.of) registers.set(name, [0, 0, 0, 0]);
        return;
      case 'set': {
        const value = this.value(thread, stmt.value);
        registers.set(
          stmt.register,
          [0, 1, 2, 3].map((i) => round(elementOf(value, i))),
        );
        return;
      }
      case 'add': {
        const added = this.value(thread, stmt.value);
        return sum(stmt.to, (i) => added[i]!);
      }
      case 'multiply':
        for (const [row, names] of stmt.to.entries()) {
          const factor = this.register(thread, stmt.rows[row >> 2]!)[row & 3]!;
          for (const [g, name] of names.entries()) {
            const column = this.register(thread, stmt.columns[g]!);
            sum(name, (i) => factor * column[i]!);
          }
        }
        return;
      case 'write': {
        const { key, width } = this.place(thread, stmt.to);
        const value = this.value(thread, stmt.value);
        if (value.length !== width) this.fail(`${value.length} values go to ${key}`);
        this.cells.set(key, value);
      }
    }
  }

  /** What an operation gives, as precise as registers are. */
  private combine(op: RegisterOp, a: number, b: number, x = NaN, y = NaN): number {
    return toComputeType(OPS[op](a, b, x, y), this.scheduled.registers!);
  }

  /** The registers of a thread, together with those of another. */
  pair(
    { registers }: RegisterThread,
    { of, by }: Extract<RegisterStmt, { kind: 'pair' }>,
    other: readonly (readonly number[])[],
  ): void {
    of.forEach((name, j) => {
      const own = registers.get(name)!;
      registers.set(
        name,
        own.map((a, i) => this.combine(by, a, other[j]![i]!)),
      );
    });
  }

  private register({ registers }: RegisterThread, name: string): readonly number[] {
    return registers.get(name) ?? this.fail(`register ${name} was not set`);
  }

  /** Four values, or one. */
  value(thread: RegisterThread, value: RegisterValue): readonly number[] {
    switch (value.kind) {
      case 'number':
        return [value.value];
      case 'op': {
        const of = value.of.map((each) => this.value(thread, each));
        const width = Math.max(...of.map(({ length }) => length));
        return Array.from({ length: width }, (_, i) => {
          const [a, b, x, y] = of.map((each) => elementOf(each, i));
          return this.combine(value.op, a!, b!, x, y);
        });
      }
      case 'fold':
        return [
          value.of
            .flatMap((name) => this.register(thread, name))
            .reduce((a, b) => this.combine(value.by, a, b)),
        ];
      case 'register': {
        const all = this.register(thread, value.name);
        return value.element === undefined ? all : [all[value.element]!];
      }
      case 'pack':
        return value.of.flatMap((each) => this.value(thread, each));
      case 'read': {
        const { key } = this.place(thread, value.from);
        return this.cells.get(key) ?? this.fail(`${key} is read, which nobody wrote`);
      }
      case 'call':
        return thread.call(value);
    }
  }

  private place(
    thread: RegisterThread,
    { array, row, at }: Cell,
  ): { readonly key: string; readonly width: number } {
    const { rows = 1, length, width } = this.scheduled.shared.find(({ name }) => name === array)!;
    const [i, j] = [row === undefined ? 0 : thread.index(row), thread.index(at)];
    const key = `${array}[${i}][${j}]`;
    if (!(i >= 0 && i < rows && j >= 0 && j < length)) this.fail(`${key} is outside of the array`);
    return { key, width: width! };
  }
}
