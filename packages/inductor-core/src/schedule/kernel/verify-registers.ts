/**
 * @file What `verifyScheduled` checks of statements on registers: that registers and cells are there, that values are as
 * wide as the cells that they go to, and that routines are given what they want.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import type {
  Cell,
  RegisterOp,
  RegisterStmt,
  RegisterValue,
  Routine,
  RoutineCall,
} from './registers.js';
import type { ScheduledKernel } from './scheduled-kernel.js';

/** The verifier that asks. */
export interface RegisterChecks {
  fail(what: string): never;
  /** Whether an index may differ between threads; all that it names must be known. */
  index(index: IndexExpr): boolean;
}

type RegisterOnlyStmt = Exclude<RegisterStmt, { kind: 'give' | 'mark' | 'agree' }>;

/** Values that an operation takes. */
const OPERANDS: Readonly<Record<RegisterOp, number>> = {
  add: 2,
  sub: 2,
  mul: 2,
  div: 2,
  larger: 2,
  exp: 1,
  'quick exp': 1,
  log: 1,
  equal: 4,
  greater: 4,
};

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
    if (this.scheduled.registers === undefined && stmt.kind !== 'visit')
      this.checks.fail('registers have no type');
    switch (stmt.kind) {
      case 'clear':
        for (const name of stmt.of) this.known.add(name);
        return;
      case 'set':
        if (stmt.keeps && stmt.value.kind === 'number') this.width(stmt.value);
        else this.wide(stmt.value, 4);
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
        const { gives } = this.routine(stmt);
        if (gives !== undefined) this.checks.fail(`nobody takes what '${stmt.routine}' gives`);
        return;
      }
      case 'pair':
        for (const name of stmt.of) this.register(name);
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

  /** A routine that is visited. */
  routine({ routine: name, at, of = [] }: Pick<RoutineCall, 'routine' | 'at' | 'of'>): Routine {
    const routine = this.routines.get(name);
    if (routine === undefined) this.checks.fail(`there is no routine '${name}'`);
    if (routine.parameters.length !== at.length)
      this.checks.fail(`'${name}' has ${routine.parameters.length} parameters`);
    for (const index of at) this.checks.index(index);
    if (routine.results.length !== of.length)
      this.checks.fail(`'${name}' has ${routine.results.length} results`);
    for (const value of of) this.wide(value, routine.isSingle ? 1 : 4);
    return routine;
  }

  private register(name: string): void {
    if (!this.known.has(name)) this.checks.fail(`register '${name}' is used before it is set`);
  }

  private wide(value: RegisterValue, width: number): void {
    const found = this.width(value);
    if (found !== width) this.checks.fail(`${found} values where ${width} are wanted`);
  }

  /** How many values there are. */
  width(value: RegisterValue): number {
    switch (value.kind) {
      case 'number':
        return 1;
      case 'op':
        if (value.of.length !== OPERANDS[value.op])
          this.checks.fail(`'${value.op}' of ${value.of.length} values`);
        return Math.max(...value.of.map((each) => this.width(each)));
      case 'fold':
        for (const name of value.of) this.register(name);
        return 1;
      case 'register':
        this.register(value.name);
        return value.element === undefined ? 4 : 1;
      case 'pack':
        for (const each of value.of) this.wide(each, 1);
        return value.of.length;
      case 'read':
        return this.cell(value.from);
      case 'call':
        return this.routine(value).gives === this.scheduled.registers ? 4 : 0;
    }
  }
}
