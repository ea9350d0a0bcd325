/**
 * @file A fused kernel as JavaScript: nested loops, one statement for each distinct value.
 *
 * Sums and other reductions are those of inductor-core's table, kept in float64, because all of JavaScript's numbers
 * are; so is what a matrix product adds up.
 */
import * as core from '@tessera/inductor-core';
import { Functions } from './functions.js';
import { cast, constant, held, operation } from './operators.js';

type Expr = core.Expr;
type DType = Expr['dtype'];

const DIVISION: core.IndexDivision = {
  div: (num, den) => `Math.floor(${num} / ${den})`,
  mod: (num, den) => `${num} % ${den}`,
};

/** Statements of one block, in which every distinct value has a name; values of enclosing blocks are known too. */
class Block {
  readonly lines: string[] = [];
  private readonly names = new Map<Expr, string>();

  constructor(
    private readonly site: { readonly functions: Functions; count: number },
    private readonly parent: Block | null = null,
    /** Texts of operands that have names: scalars of the kernel, registers of a reduction. */
    private readonly operands?: (name: string, dtype: DType) => string,
  ) {}

  /** The name of a value, computed here if it is not known. Iterative: expressions may be deep. */
  value(root: Expr): string {
    const stack = [root];
    while (stack.length > 0) {
      const expr = stack.at(-1)!;
      const inputs = expr.kind === 'masked' ? [expr.mask] : core.operands(expr);
      const waiting =
        this.find(expr) === undefined ? inputs.filter((x) => this.find(x) === undefined) : [];
      if (waiting.length > 0) stack.push(...waiting.toReversed());
      else {
        stack.pop();
        if (this.find(expr) === undefined) this.names.set(expr, this.define(expr));
      }
    }
    return this.find(root)!;
  }

  index(index: core.IndexExpr): string {
    const text = (value: Expr): string => `Number(${this.value(value)})`;
    return core.printIndex(index, text, DIVISION);
  }

  /** A block inside this one. */
  inner(operands?: (name: string, dtype: DType) => string): Block {
    return new Block(this.site, this, operands);
  }

  private find(expr: Expr): string | undefined {
    return this.names.get(expr) ?? this.parent?.find(expr);
  }

  private operand(name: string, dtype: DType): string {
    return this.operands?.(name, dtype) ?? this.parent!.operand(name, dtype);
  }

  private define(expr: Expr): string {
    if (expr.kind === 'const') return constant(expr.dtype, expr.value);
    if (expr.kind === 'scalar') return this.operand(expr.name, expr.dtype);
    if (expr.kind === 'acc') return `acc${expr.id}`;
    const name = `v${this.site.count++}`;
    if (expr.kind === 'masked') {
      const inside = this.inner();
      const body = inside.value(expr.body);
      const other = constant(expr.dtype, expr.other);
      this.lines.push(`let ${name} = ${other};`);
      this.lines.push(`if (${this.value(expr.mask)}) {`, ...inside.lines, `${name} = ${body}; }`);
      return name;
    }
    if (expr.kind === 'check') {
      const [subject, ok] = [this.value(expr.subject), this.value(expr.ok)];
      this.lines.push(`if (!${ok}) fail(${JSON.stringify(expr.check)}, Number(${subject}));`);
      return this.value(expr.value);
    }
    this.lines.push(`const ${name} = ${this.text(expr)};`);
    return name;
  }

  private text(expr: Extract<Expr, { kind: 'load' | 'index' | 'random' | 'op' }>): string {
    const { functions } = this.site;
    switch (expr.kind) {
      case 'load':
        return `${expr.buf}[${this.index(expr.index)}]`;
      case 'index':
        return held(expr.dtype) === 'i64'
          ? `BigInt(${this.index(expr.index)})`
          : this.index(expr.index);
      case 'random': {
        const [seed, offset] = [expr.seed, expr.offset].map(
          (each) => `Number(BigInt.asUintN(32, BigInt(${this.value(each)})))`,
        );
        return `${functions.use(expr.distribution)}(${seed}, ${offset}, ${this.index(expr.index)} >>> 0)`;
      }
      case 'op':
        return operation(
          expr,
          expr.args.map((arg) => this.value(arg)),
          functions,
        );
    }
  }
}

function loops(vars: readonly core.LoopVar[], body: readonly string[]): string[] {
  const heads = vars.map(({ name, size }) => `for (let ${name} = 0; ${name} < ${size}; ${name}++)`);
  return [...heads, '{', ...body, '}'];
}

function store(block: Block, { buf, index, value }: Extract<core.Stmt, { kind: 'store' }>): void {
  const text = block.value(value);
  block.lines.push(`${buf}[${block.index(index)}] = ${text};`);
}

/** The parts of a reduction's code, from its record. */
function reduction(
  block: Block,
  stmt: core.ReduceStmt,
): { begin: string[]; finish: () => string[] } {
  const from = stmt.value.dtype;
  const dtype = held(from) === 'f32' ? 'float64' : from;
  const record = core.reductionOf({ op: stmt.op, dtype, target: core.REFERENCE_TARGET });
  const own = (name: string): string => `${name}${stmt.ids[0]}`;
  const begin = record.state.map(
    (register) => `let ${own(register.name)} = ${constant(register.dtype, register.identity)};`,
  );
  const x = block.value(stmt.value);
  const counted = (name: string, type: DType): string =>
    name === 'x' ? x : cast('int32', type, name === 'at' ? 'at' : '(at + 1)');
  const operand = (name: string, type: DType): string =>
    name === 'x' || name === 'at' || name === 'size' ? counted(name, type) : own(name);
  for (const { where, set } of record.update) {
    const inside = block.inner(operand);
    const values = set.map(([, value]) => inside.value(value));
    const assign = `[${set.map(([name]) => own(name)).join(', ')}] = [${values.join(', ')}];`;
    const condition = where === undefined ? '' : `if (${inside.value(where)}) `;
    block.lines.push('{', ...inside.lines, `${condition}${assign}`, '}');
  }
  const finish = (): string[] => {
    const inside = block.inner((name, type) =>
      name === 'size' ? cast('int32', type, 'at') : own(name),
    );
    const part = record.handOver.map((value) => inside.value(value));
    const results = inside.inner((name, type) => {
      const i = record.part.findIndex((register) => register.name === name);
      return i < 0 ? cast('int32', type, 'at') : part[i]!;
    });
    const values = record.finish.map((value) =>
      cast(value.dtype, stmt.dtype, results.value(value)),
    );
    const set = stmt.ids.map((id, i) => `acc${id} = ${values[i]};`);
    return ['{', ...inside.lines, ...results.lines, ...set, '}'];
  };
  return { begin, finish };
}

function stage(outer: Block, { inner }: core.LoopKernel, which: core.Stage): string[] {
  const block = outer.inner();
  if (which.kind === 'outer') {
    for (const stmt of which.body) store(block, stmt as Extract<core.Stmt, { kind: 'store' }>);
    return ['{', ...block.lines, '}'];
  }
  const begin: string[] = [];
  const finish: string[] = [];
  for (const stmt of which.body) {
    if (stmt.kind === 'store') store(block, stmt);
    else {
      const made = reduction(block, stmt);
      begin.push(...made.begin);
      if (stmt.running === true) block.lines.push(...made.finish());
      finish.push(...made.finish());
    }
  }
  return ['{', 'let at = 0;', ...begin, ...loops(inner, [...block.lines, 'at++;']), ...finish, '}'];
}

function loopKernel(outer: Block, kernel: core.LoopKernel): string[] {
  const ids = kernel.stages.flatMap(({ body }) =>
    body.flatMap((stmt) => (stmt.kind === 'reduce' ? stmt.ids : [])),
  );
  const accs = ids.length === 0 ? [] : [`let ${ids.map((id) => `acc${id}`).join(', ')};`];
  const stages = kernel.stages.flatMap((each) => stage(outer, kernel, each));
  return loops(kernel.outer, [...accs, ...stages]);
}

function matmulKernel(outer: Block, kernel: core.MatmulKernel): string[] {
  const { accDtype, batch, m, n, k } = kernel;
  const point = outer.inner();
  const [a, b] = [point.value(kernel.a), point.value(kernel.b)];
  const type = held(accDtype);
  const sum =
    type === 'f32' || type === 'f64'
      ? `sum + ${a} * ${b}`
      : type === 'i64'
        ? `BigInt.asIntN(64, sum + ${a} * ${b})`
        : `(sum + Math.imul(${a}, ${b})) | 0`;
  const epilogue = outer.inner();
  for (const stmt of kernel.epilogue)
    store(epilogue, stmt as Extract<core.Stmt, { kind: 'store' }>);
  return loops(
    [...batch, ...m, ...n],
    [
      `let sum = ${constant(accDtype, 0)};`,
      ...loops(k, [...point.lines, `sum = ${sum};`]),
      `const acc0 = ${type === 'f32' ? 'Math.fround(sum)' : 'sum'};`,
      ...epilogue.lines,
    ],
  );
}

/** The body of a function of a kernel's buffers and scalars; null for calls of reference kernels, and for those not asked for. */
export function generate(kernel: core.FusedKernel): string | null {
  if (kernel.kind === 'extern' || kernel.kind === 'attention') return null;
  const functions = new Functions();
  const outer = new Block({ functions, count: 0 }, null, (name, dtype) =>
    cast('float64', dtype, name),
  );
  const body = kernel.kind === 'loop' ? loopKernel(outer, kernel) : matmulKernel(outer, kernel);
  return `${functions}${body.join('\n')}`;
}
