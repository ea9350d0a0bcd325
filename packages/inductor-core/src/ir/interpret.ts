/**
 * @file Reference interpreter: runs one kernel on plain arrays.
 *
 * It defines what generated code must compute. It is slow, checks every index, and sums in float64, so
 * that it is the more exact side of a comparison. Each body is flattened once into steps that write
 * numbered slots; the body of a `masked` expression is a nested list that runs only where the mask holds.
 */
import { TesseraError } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf, philoxNormal, philoxUniform } from '@tessera/tensor';
import type { Expr, Stmt } from './expr.js';
import type { IndexExpr, LoopVar } from './index-expr.js';
import type { ExternKernel, FusedKernel, LoopKernel, MatmulKernel } from './kernel.js';
import { Accumulator } from './interpret-reduce.js';
import { castScalar, evalScalar, isFloat, toComputeType } from './scalar-eval.js';

/** Memory of a buffer: plain numbers in storage order; BigInt64Array for int64 works too. */
export type BufferData = number[] | Float32Array | Float64Array | Int32Array | Int16Array | Int8Array | Uint8Array | BigInt64Array;

/** Runs an extern call; the interpreter has no kernels of its own. */
export type ExternRunner = (kernel: ExternKernel, buffers: ReadonlyMap<string, BufferData>, scalars: ReadonlyMap<string, number>) => void;

type Cell = () => number;

/** Loop counters, finished results and slots of one kernel run. */
class Frame {
  readonly vars = new Map<string, { value: number }>();
  readonly accs = new Map<number, { value: number }>();

  constructor(
    private readonly kernel: FusedKernel,
    private readonly buffers: ReadonlyMap<string, BufferData>,
    private readonly scalars: ReadonlyMap<string, number>,
  ) {}

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
class Program {
  readonly steps: (() => void)[] = [];
  private readonly cells = new Map<Expr, Cell>();

  constructor(
    private readonly frame: Frame,
    private readonly parent: Program | null = null,
  ) {}

  run(): void {
    for (const step of this.steps) step();
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
    const found: Expr[] = [];
    if (expr.kind === 'random') found.push(expr.seed, expr.offset);
    if (expr.kind === 'load' || expr.kind === 'index' || expr.kind === 'random') collectValues(expr.index, found);
    return found;
  }

  private find(expr: Expr): Cell | undefined {
    return this.cells.get(expr) ?? this.parent?.find(expr);
  }

  private slot(compute: Cell): Cell {
    let value = 0;
    this.steps.push(() => {
      value = compute();
    });
    return () => value;
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
          if (at < 0 || at >= data.length) frame.fail(`load ${expr.buf}[${at}] is outside its ${data.length} elements`);
          return Number(data[at]);
        });
      }
      case 'masked': {
        const mask = this.find(expr.mask)!;
        const inside = new Program(frame, this);
        const body = inside.compile(expr.body);
        const other = isFloat(expr.dtype) ? toComputeType(expr.other, expr.dtype) : castScalar(expr.other, 'float64', expr.dtype);
        return this.slot(() => {
          if (mask() === 0) return other;
          inside.run();
          return body();
        });
      }
      case 'random': {
        const [seed, offset, index] = [this.find(expr.seed)!, this.find(expr.offset)!, this.indexCell(expr.index)];
        const draw = expr.distribution === 'uniform' ? philoxUniform : philoxNormal;
        return this.slot(() => toComputeType(draw(seed() >>> 0, offset() >>> 0, index() >>> 0), expr.dtype));
      }
      case 'op': {
        const [a, b, c] = expr.args.map((arg) => this.find(arg)!);
        const operand = (expr.op === 'where' ? expr.args[1]! : expr.args[0]!).dtype;
        const { op, dtype } = expr;
        return this.slot(() => evalScalar(op, dtype, operand, a!(), b === undefined ? 0 : b(), c === undefined ? 0 : c()));
      }
    }
  }

  /** An index as a function; its run-time values must be compiled before. */
  indexCell(index: IndexExpr): Cell {
    switch (index.kind) {
      case 'int':
        return () => index.value;
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

/** A program followed by effects. */
function compileBody(frame: Frame, body: readonly Stmt[], effect: (stmt: Stmt, value: Cell, index: Cell | null) => () => void): () => void {
  const program = new Program(frame);
  for (const stmt of body) {
    const value = program.compile(stmt.value);
    const index = stmt.kind === 'store' ? program.indexCell(stmt.index) : null;
    program.steps.push(effect(stmt, value, index));
  }
  return () => program.run();
}

/** A value as it reads back from a buffer of its dtype. */
function stored(value: number, dtype: DType): number {
  if (dtype === 'float16') return halfToNumber(numberToHalf(value));
  if (dtype === 'bfloat16') return bfloatToNumber(numberToBfloat(value));
  return isFloat(dtype) ? value : castScalar(value, dtype, dtype);
}

function storeEffect(frame: Frame, stmt: Extract<Stmt, { kind: 'store' }>, value: Cell, index: Cell): () => void {
  const data = frame.buffer(stmt.buf);
  const { dtype } = stmt.value;
  return () => {
    const at = index();
    if (at < 0 || at >= data.length) frame.fail(`store ${stmt.buf}[${at}] is outside its ${data.length} elements`);
    const v = stored(value(), dtype);
    if (data instanceof BigInt64Array) data[at] = BigInt(v);
    else data[at] = v;
  };
}

/** Calls `visit` for every point of a loop nest, last variable fastest. */
function forEachPoint(frame: Frame, vars: readonly LoopVar[], visit: () => void): void {
  const cells = vars.map((v) => frame.variable(v.name));
  let total = 1;
  for (const v of vars) total *= v.size;
  for (const cell of cells) cell.value = 0;
  for (let i = 0; i < total; i++) {
    visit();
    for (let d = vars.length - 1; d >= 0; d--) {
      if (++cells[d]!.value < vars[d]!.size) break;
      cells[d]!.value = 0;
    }
  }
}

function runLoop(kernel: LoopKernel, frame: Frame): void {
  const stages = kernel.stages.map((stage) => {
    const reductions: Accumulator[] = [];
    const run = compileBody(frame, stage.body, (stmt, value, index) => {
      if (stmt.kind === 'store') return storeEffect(frame, stmt, value, index!);
      const accumulator = new Accumulator(stmt.op, stmt.dtype, stmt.ids.map((id) => frame.acc(id)));
      reductions.push(accumulator);
      return () => accumulator.add(value());
    });
    return { kind: stage.kind, run, reductions };
  });
  forEachPoint(frame, kernel.outer, () => {
    for (const stage of stages) {
      for (const reduction of stage.reductions) reduction.reset();
      if (stage.kind === 'inner') forEachPoint(frame, kernel.inner, stage.run);
      else stage.run();
      for (const reduction of stage.reductions) reduction.finish();
    }
  });
}

function runMatmul(kernel: MatmulKernel, frame: Frame): void {
  const operandsProgram = new Program(frame);
  const a = operandsProgram.compile(kernel.a);
  const b = operandsProgram.compile(kernel.b);
  const product = frame.acc(0);
  const epilogue = compileBody(frame, kernel.epilogue, (stmt, value, index) => storeEffect(frame, stmt as Extract<Stmt, { kind: 'store' }>, value, index!));
  forEachPoint(frame, [...kernel.batch, ...kernel.m, ...kernel.n], () => {
    let sum = 0;
    forEachPoint(frame, kernel.k, () => {
      operandsProgram.run();
      sum += a() * b();
    });
    product.value = toComputeType(sum, kernel.accDtype);
    epilogue();
  });
}

/**
 * Runs a kernel on `buffers` and `scalars` given by parameter name; written buffers are changed in place.
 *
 * @throws plan-invalid for an index out of range or a missing buffer
 */
export function interpretKernel(
  kernel: FusedKernel,
  buffers: Readonly<Record<string, BufferData>> | ReadonlyMap<string, BufferData>,
  scalars: Readonly<Record<string, number>> | ReadonlyMap<string, number> = {},
  extern?: ExternRunner,
): void {
  const bufferMap = buffers instanceof Map ? (buffers as ReadonlyMap<string, BufferData>) : new Map(Object.entries(buffers as Record<string, BufferData>));
  const scalarMap = scalars instanceof Map ? (scalars as ReadonlyMap<string, number>) : new Map(Object.entries(scalars as Record<string, number>));
  const frame = new Frame(kernel, bufferMap, scalarMap);
  if (kernel.kind === 'loop') runLoop(kernel, frame);
  else if (kernel.kind === 'matmul') runMatmul(kernel, frame);
  else if (extern === undefined) frame.fail(`no runner was given for the extern call of ${kernel.op}`);
  else extern(kernel, bufferMap, scalarMap);
}
