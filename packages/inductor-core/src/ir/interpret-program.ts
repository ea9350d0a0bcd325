/**
 * @file The straight-line programs of the reference interpreter.
 *
 * A body is flattened once into steps that write numbered slots; the body of a `masked` expression is
 * a nested list that runs only where the mask holds. Iterative: expressions may be deep.
 */
import { type Size, type SymInt, TesseraError } from '@tessera/shared';
import { philoxNormal, philoxUniform, valueError } from '@tessera/tensor/internal';
import type { Expr } from './expr.js';
import type { IndexExpr } from './index-expr.js';
import type { ExternKernel, FusedKernel } from './kernel.js';
import type { SizeValue } from './kernel-at.js';
import { checkAt } from './kernel-checks.js';
import { constantOf, evalScalar, toComputeType } from './scalar-eval.js';

/** Memory of a buffer: plain numbers in storage order; BigInt64Array for int64 works too. */
export type BufferData =
  | number[]
  | Float32Array
  | Float64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint8Array
  | BigInt64Array;

/** Runs an extern call; the interpreter has no kernels of its own. */
export type ExternRunner = (
  kernel: ExternKernel,
  buffers: ReadonlyMap<string, BufferData>,
  scalars: ReadonlyMap<string, number>,
) => void;

/** Reads a computed value. */
export type Cell = () => number;

/** Loop counters, finished results and slots of one kernel run. */
export class Frame {
  readonly vars: Map<string, { value: number }> = new Map();
  readonly accs: Map<number, { value: number }> = new Map();

  constructor(
    private readonly kernel: FusedKernel<Size>,
    private readonly buffers: ReadonlyMap<string, BufferData>,
    private readonly scalars: ReadonlyMap<string, number>,
    private readonly valueOf: SizeValue | null = null,
  ) {}

  /** The value of a symbolic size. */
  size(size: SymInt): number {
    return this.valueOf?.(size) ?? this.fail(`its size ${String(size)} is symbolic`);
  }

  variable(name: string): { value: number } {
    let cell = this.vars.get(name);
    if (cell === undefined) this.vars.set(name, (cell = { value: 0 }));
    return cell;
  }

  acc(id: number): { value: number } {
    let cell = this.accs.get(id);
    if (cell === undefined) this.accs.set(id, (cell = { value: NaN }));
    return cell;
  }

  fail(what: string): never {
    throw new TesseraError('plan-invalid', `Interpreting kernel '${this.kernel.name}': ${what}.`, {
      hints: ['Run verifyKernel on it, and check that every buffer is as long as the plan says.'],
    });
  }

  buffer(name: string): BufferData {
    return this.buffers.get(name) ?? this.fail(`buffer '${name}' was not given`);
  }

  scalar(name: string): number {
    return this.scalars.get(name) ?? this.fail(`scalar '${name}' was not given`);
  }
}

/** Straight-line program for a list of expressions. */
export class Program {
  readonly steps: (() => void)[] = [];
  private readonly cells = new Map<Expr, Cell>();

  constructor(
    private readonly frame: Frame,
    private readonly parent: Program | null = null,
  ) {}

  run(): void {
    for (const step of this.steps) step();
  }

  /** Makes a value what lies in memory at an index, instead of what it is computed from. */
  read(expr: Expr, data: BufferData, index: Cell): void {
    this.cells.set(expr, () => Number(data[index()]));
  }

  /** The cell that holds `root` after a run. Iterative: expressions may be deep. */
  compile(root: Expr): Cell {
    const stack: Expr[] = [root];
    while (stack.length > 0) {
      const expr = stack[stack.length - 1]!;
      if (this.find(expr) !== undefined) {
        stack.pop();
        continue;
      }
      const waiting = this.direct(expr).filter((input) => this.find(input) === undefined);
      if (waiting.length > 0) {
        stack.push(...waiting.reverse());
        continue;
      }
      stack.pop();
      this.cells.set(expr, this.define(expr));
    }
    return this.find(root)!;
  }

  /** Operands to evaluate before; the body of `masked` belongs to a nested program. */
  private direct(expr: Expr): Expr[] {
    if (expr.kind === 'op') return [...expr.args];
    if (expr.kind === 'masked') return [expr.mask];
    if (expr.kind === 'check') return [expr.subject, expr.ok, expr.value];
    const found: Expr[] = [];
    if (expr.kind === 'random') found.push(expr.seed, expr.offset);
    if (expr.kind === 'load' || expr.kind === 'index' || expr.kind === 'random')
      collectValues(expr.index, found);
    return found;
  }

  private find(expr: Expr): Cell | undefined {
    return this.cells.get(expr) ?? this.parent?.find(expr);
  }

  private slot(compute: Cell): Cell {
    // A variable of a closure would be a new object for each number that is set.
    const cell = new Float64Array(1);
    this.steps.push(() => {
      cell[0] = compute();
    });
    return () => cell[0]!;
  }

  private define(expr: Expr): Cell {
    const { frame } = this;
    switch (expr.kind) {
      case 'const':
        return () => expr.value;
      case 'scalar': {
        const value = toComputeType(frame.scalar(expr.name), expr.dtype);
        return () => value;
      }
      case 'acc': {
        const cell = frame.acc(expr.id);
        return () => cell.value;
      }
      case 'index':
        return this.slot(this.indexCell(expr.index));
      case 'load': {
        const data = frame.buffer(expr.buf);
        const index = this.indexCell(expr.index);
        return this.slot(() => {
          const at = index();
          if (at < 0 || at >= data.length)
            frame.fail(`load ${expr.buf}[${at}] is outside its ${data.length} elements`);
          return Number(data[at]);
        });
      }
      case 'masked': {
        const mask = this.find(expr.mask)!;
        const inside = new Program(frame, this);
        const body = inside.compile(expr.body);
        const other = constantOf(expr.dtype, expr.other);
        return this.slot(() => {
          if (mask() === 0) return other;
          inside.run();
          return body();
        });
      }
      case 'check': {
        const [subject, ok, value] = [expr.subject, expr.ok, expr.value].map((part) =>
          this.find(part)!,
        );
        return this.slot(() => {
          if (ok!() === 0)
            throw valueError(
              checkAt(expr.check, (size) => this.frame.size(size)),
              subject!(),
            );
          return value!();
        });
      }
      case 'random': {
        const [seed, offset, index] = [
          this.find(expr.seed)!,
          this.find(expr.offset)!,
          this.indexCell(expr.index),
        ];
        const draw = expr.distribution === 'uniform' ? philoxUniform : philoxNormal;
        return this.slot(() =>
          toComputeType(draw(seed() >>> 0, offset() >>> 0, index() >>> 0), expr.dtype),
        );
      }
      case 'op': {
        const [a, b, c] = expr.args.map((arg) => this.find(arg)!);
        const operand = (expr.op === 'where' ? expr.args[1]! : expr.args[0]!).dtype;
        const { op, dtype } = expr;
        return this.slot(() =>
          evalScalar(
            op,
            dtype,
            operand,
            a!(),
            b === undefined ? 0 : b(),
            c === undefined ? 0 : c(),
          ),
        );
      }
    }
  }

  /** An index as a function; its run-time values must be compiled before. */
  indexCell(index: IndexExpr): Cell {
    return this.linear(index) ?? this.nested(index);
  }

  /** A sum of loop counters times numbers, as most indices are: no call for each part. Null of others. */
  private linear(index: IndexExpr): Cell | null {
    const counters: { readonly value: number }[] = [];
    const factors: number[] = [];
    let constant = 0;
    for (const term of index.kind === 'add' ? index.terms : [index]) {
      let counter: { readonly value: number } | null = null;
      let factor = 1;
      for (const part of term.kind === 'mul' ? term.factors : [term])
        if (part.kind === 'int') factor *= part.value;
        else if (part.kind === 'size') factor *= this.frame.size(part.size);
        else if (part.kind === 'sym' && counter === null) counter = this.frame.variable(part.name);
        else return null;
      if (counter === null) constant += factor;
      else {
        counters.push(counter);
        factors.push(factor);
      }
    }
    return () => {
      let sum = constant;
      for (let i = 0; i < factors.length; i++) sum += factors[i]! * counters[i]!.value;
      return sum;
    };
  }

  private nested(index: IndexExpr): Cell {
    switch (index.kind) {
      case 'int':
        return () => index.value;
      case 'size': {
        const value = this.frame.size(index.size);
        return () => value;
      }
      case 'sym': {
        const cell = this.frame.variable(index.name);
        return () => cell.value;
      }
      case 'value':
        return this.find(index.value) ?? this.compile(index.value);
      case 'add': {
        const terms = index.terms.map((term) => this.indexCell(term));
        return () => terms.reduce((sum, term) => sum + term(), 0);
      }
      case 'mul': {
        const factors = index.factors.map((factor) => this.indexCell(factor));
        return () => factors.reduce((product, factor) => product * factor(), 1);
      }
      case 'div':
      case 'mod': {
        const [num, den] = [this.indexCell(index.num), this.indexCell(index.den)];
        if (index.kind === 'div') return () => Math.floor(num() / den());
        return () => num() - Math.floor(num() / den()) * den();
      }
    }
  }
}

function collectValues(index: IndexExpr, into: Expr[]): void {
  if (index.kind === 'value') into.push(index.value);
  else if (index.kind === 'add') for (const term of index.terms) collectValues(term, into);
  else if (index.kind === 'mul') for (const factor of index.factors) collectValues(factor, into);
  else if (index.kind === 'div' || index.kind === 'mod') {
    collectValues(index.num, into);
    collectValues(index.den, into);
  }
}
