/**
 * @file What `verifyScheduled` checks of statements on registers: that registers and cells are there, that values are as
 * wide as the cells that they go to, and that routines are given what they want.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import type { Cell, RegisterStmt, RegisterValue, Routine } from './registers.js';
import type { ScheduledKernel } from './scheduled-kernel.js';

/** The verifier that asks. */
export interface RegisterChecks {
  fail(what: string): never;
  /** Whether an index may differ between threads; all that it names must be known. */
  index(index: IndexExpr): boolean;
}

type RegisterOnlyStmt = Exclude<RegisterStmt, { kind: 'give' | 'mark' | 'agree' }>;

/** See the file header. */
export class RegisterVerifier {
  private readonly known = new Set<string>();
  private readonly routines: ReadonlyMap<string, Routine>;

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly checks: RegisterChecks,
  ) {
    this.routines = new Map((scheduled.routines ?? []).map((each) => [each.name, each]));
  }

  stmt(stmt: RegisterOnlyStmt): void {
    if (this.scheduled.registers === undefined) this.checks.fail('registers have no type');
    switch (stmt.kind) {
      case 'clear':
        for (const name of stmt.of) this.known.add(name);
        return;
      case 'set':
        this.wide(stmt.value, 4);
        this.known.add(stmt.register);
        return;
      case 'add':
        this.register(stmt.to);
        return this.wide(stmt.value, 4);
      case 'multiply':
        for (const name of [...stmt.to.flat(), ...stmt.rows, ...stmt.columns]) this.register(name);
        if (stmt.to.length !== 4 * stmt.rows.length)
          this.checks.fail(`${stmt.to.length} rows of ${stmt.rows.length} vectors`);
        if (stmt.to.some((names) => names.length !== stmt.columns.length))
          this.checks.fail('rows have not as many registers as columns');
        return;
      case 'write':
        return this.wide(stmt.value, this.cell(stmt.to));
      case 'visit': {
        const { results, gives } = this.routine(stmt.routine, stmt.at);
        if (gives !== undefined) this.checks.fail(`nobody takes what '${stmt.routine}' gives`);
        if (results.length !== stmt.of.length)
          this.checks.fail(`'${stmt.routine}' has ${results.length} results`);
        for (const name of stmt.of) this.register(name);
      }
    }
  }

  /** Width of a cell. */
  cell({ array, row, at }: Cell): number {
    const declared = this.scheduled.shared.find(({ name }) => name === array);
    if (declared?.width === undefined) this.checks.fail(`there are no cells '${array}'`);
    if ((row !== undefined) !== (declared.rows !== undefined))
      this.checks.fail(`'${array}' is not in rows as its cells are`);
    for (const index of row === undefined ? [at] : [row, at]) this.checks.index(index);
    return declared.width;
  }

  /** A routine that is visited at a place. */
  routine(name: string, at: readonly IndexExpr[]): Routine {
    const routine = this.routines.get(name);
    if (routine === undefined) this.checks.fail(`there is no routine '${name}'`);
    if (routine.parameters.length !== at.length)
      this.checks.fail(`'${name}' has ${routine.parameters.length} parameters`);
    for (const index of at) this.checks.index(index);
    return routine;
  }

  private register(name: string): void {
    if (!this.known.has(name)) this.checks.fail(`register '${name}' is used before it is set`);
  }

  private wide(value: RegisterValue, width: number): void {
    const found = this.width(value);
    if (found !== width) this.checks.fail(`${found} values where ${width} are wanted`);
  }

  private width(value: RegisterValue): number {
    switch (value.kind) {
      case 'register':
        this.register(value.name);
        return value.element === undefined ? 4 : 1;
      case 'pack':
        for (const each of value.of) this.wide(each, 1);
        return value.of.length;
      case 'read':
        return this.cell(value.from);
      case 'call':
        return this.routine(value.routine, value.at).gives === this.scheduled.registers ? 4 : 0;
    }
  }
}
