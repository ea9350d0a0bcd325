/**
 * @file Plans as JSON text: for the disk cache and for shipping compiled graphs.
 *
 * JSON has no NaN, infinities or -0, so those numbers are written as strings. Shared expressions are
 * written once and referred to by number: a fused expression is a graph, and as a tree it could be
 * exponentially large.
 */
import { TesseraError } from '@tessera/shared';
import { IrBuilder } from '../ir/build.js';
import type { Expr, Stmt } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { FusedKernel, LoopKernel, MatmulKernel } from '../ir/kernel.js';
import { postorder, stmtRoots } from '../ir/walk.js';
import type { ExecutionPlan } from './execution-plan.js';
import { verifyPlan } from './verify-plan.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Fields = { readonly [key: string]: Json };

function numberToJson(value: number): number | string {
  if (Number.isFinite(value) && !Object.is(value, -0)) return value;
  return Object.is(value, -0) ? '-0' : String(value);
}

function numberFromJson(value: Json): number {
  return typeof value === 'string' ? Number(value) : (value as number);
}

/** Writes expressions as a list in which later ones refer to earlier ones. */
class ExprWriter {
  readonly list: Json[] = [];
  private readonly ids = new Map<Expr, number>();

  ref(root: Expr): number {
    for (const expr of postorder([root])) {
      if (this.ids.has(expr)) continue;
      this.ids.set(expr, this.list.length);
      this.list.push(this.fields(expr));
    }
    return this.ids.get(root)!;
  }

  index(e: IndexExpr): Json {
    switch (e.kind) {
      case 'int':
        return e.value;
      case 'sym':
        return e.name;
      case 'add':
        return ['+', ...e.terms.map((term) => this.index(term))];
      case 'mul':
        return ['*', ...e.factors.map((factor) => this.index(factor))];
      case 'div':
        return ['/', this.index(e.num), this.index(e.den)];
      case 'mod':
        return ['%', this.index(e.num), this.index(e.den)];
      case 'value':
        return ['@', this.ref(e.value)];
    }
  }

  private fields(expr: Expr): Json {
    switch (expr.kind) {
      case 'const':
        return { ...expr, value: numberToJson(expr.value) };
      case 'load':
      case 'index':
        return { ...expr, index: this.index(expr.index) };
      case 'op':
        return { ...expr, args: expr.args.map((arg) => this.ref(arg)) };
      case 'masked':
        return {
          ...expr,
          mask: this.ref(expr.mask),
          body: this.ref(expr.body),
          other: numberToJson(expr.other),
        };
      case 'check':
        return {
          ...expr,
          subject: this.ref(expr.subject),
          ok: this.ref(expr.ok),
          value: this.ref(expr.value),
        };
      case 'random':
        return {
          ...expr,
          seed: this.ref(expr.seed),
          offset: this.ref(expr.offset),
          index: this.index(expr.index),
        };
      default:
        return { ...expr };
    }
  }

  stmt(stmt: Stmt): Json {
    for (const root of stmtRoots(stmt)) this.ref(root);
    if (stmt.kind === 'store')
      return { ...stmt, index: this.index(stmt.index), value: this.ref(stmt.value) };
    return { ...stmt, value: this.ref(stmt.value) };
  }
}

function kernelToJson(kernel: FusedKernel): Json {
  if (kernel.kind === 'extern') return kernel as unknown as Json;
  const writer = new ExprWriter();
  const body: Fields =
    kernel.kind === 'loop'
      ? {
          stages: kernel.stages.map((stage) => ({
            kind: stage.kind,
            body: stage.body.map((stmt) => writer.stmt(stmt)),
          })),
        }
      : {
          a: writer.ref(kernel.a),
          b: writer.ref(kernel.b),
          epilogue: kernel.epilogue.map((stmt) => writer.stmt(stmt)),
        };
  return { ...(kernel as unknown as Fields), ...body, exprs: writer.list };
}

/** Reads the list back into a builder, so that sharing is by identity again. */
class ExprReader {
  private readonly ir = new IrBuilder();
  private readonly exprs: Expr[] = [];

  constructor(list: readonly Json[]) {
    for (const item of list) this.exprs.push(this.read(item as Fields));
  }

  ref(id: Json): Expr {
    const found = this.exprs[id as number];
    if (found === undefined) throw invalid(`expression ${String(id)} does not exist`);
    return found;
  }

  /** The constructors simplify nothing here: what was written is canonical already. */
  index(json: Json): IndexExpr {
    if (typeof json === 'number') return this.ir.int(json);
    if (typeof json === 'string') return this.ir.sym(json);
    const [op, ...rest] = json as readonly Json[];
    if (op === '@') return { kind: 'value', value: this.ref(rest[0]!) };
    const parts = rest.map((part) => this.index(part));
    switch (op) {
      case '+':
        return { kind: 'add', terms: parts };
      case '*':
        return { kind: 'mul', factors: parts };
      case '/':
        return { kind: 'div', num: parts[0]!, den: parts[1]! };
      default:
        return { kind: 'mod', num: parts[0]!, den: parts[1]! };
    }
  }

  private read(fields: Fields): Expr {
    switch (fields.kind) {
      case 'const':
        return { ...fields, value: numberFromJson(fields.value!) } as unknown as Expr;
      case 'load':
      case 'index':
        return { ...fields, index: this.index(fields.index!) } as unknown as Expr;
      case 'op':
        return {
          ...fields,
          args: (fields.args as readonly Json[]).map((id) => this.ref(id)),
        } as unknown as Expr;
      case 'masked':
        return {
          ...fields,
          mask: this.ref(fields.mask!),
          body: this.ref(fields.body!),
          other: numberFromJson(fields.other!),
        } as unknown as Expr;
      case 'check':
        return {
          ...fields,
          subject: this.ref(fields.subject!),
          ok: this.ref(fields.ok!),
          value: this.ref(fields.value!),
        } as unknown as Expr;
      case 'random':
        return {
          ...fields,
          seed: this.ref(fields.seed!),
          offset: this.ref(fields.offset!),
          index: this.index(fields.index!),
        } as unknown as Expr;
      case 'scalar':
      case 'acc':
        return fields as unknown as Expr;
      default:
        throw invalid(`'${String(fields.kind)}' is not an expression`);
    }
  }

  stmt(json: Json): Stmt {
    const fields = json as Fields;
    if (fields.kind === 'store')
      return {
        ...fields,
        index: this.index(fields.index!),
        value: this.ref(fields.value!),
      } as unknown as Stmt;
    return { ...fields, value: this.ref(fields.value!) } as unknown as Stmt;
  }
}

function kernelFromJson(json: Json): FusedKernel {
  const { exprs, ...fields } = json as Fields;
  if (fields.kind === 'extern') return fields as unknown as FusedKernel;
  const reader = new ExprReader(exprs as readonly Json[]);
  if (fields.kind === 'loop') {
    const stages = (fields.stages as readonly Fields[]).map((stage) => ({
      kind: stage.kind,
      body: (stage.body as readonly Json[]).map((stmt) => reader.stmt(stmt)),
    }));
    return { ...fields, stages } as unknown as LoopKernel;
  }
  if (fields.kind !== 'matmul') throw invalid(`'${String(fields.kind)}' is not a kind of kernel`);
  return {
    ...fields,
    a: reader.ref(fields.a!),
    b: reader.ref(fields.b!),
    epilogue: (fields.epilogue as readonly Json[]).map((stmt) => reader.stmt(stmt)),
  } as unknown as MatmulKernel;
}

function invalid(why: string, cause?: unknown): TesseraError {
  return new TesseraError('plan-invalid', `Cannot read this execution plan: ${why}.`, {
    hints: ['Compile it again with the installed version of the packages.'],
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The plan as JSON text. */
export function planToJson(plan: ExecutionPlan): string {
  const constants = plan.constants.map((constant) => ({
    dtype: constant.dtype,
    values: constant.values.map(numberToJson),
  }));
  return JSON.stringify({
    format: 'tessera-plan',
    ...plan,
    constants,
    kernels: plan.kernels.map(kernelToJson),
  });
}

/** The plan in a JSON text, checked. @throws plan-invalid */
export function planFromJson(text: string): ExecutionPlan {
  let json: Fields;
  try {
    json = JSON.parse(text) as Fields;
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
  const { format, ...fields } = json;
  if (format !== 'tessera-plan')
    throw invalid("it is not a plan (its 'format' is not 'tessera-plan')");
  if (fields.version !== 1)
    throw invalid(`it has version ${String(fields.version)}, this runtime reads version 1`);
  let plan: ExecutionPlan;
  try {
    plan = {
      ...(fields as unknown as ExecutionPlan),
      constants: (fields.constants as readonly Fields[]).map((c) => ({
        dtype: c.dtype,
        values: (c.values as readonly Json[]).map(numberFromJson),
      })) as unknown as ExecutionPlan['constants'],
      kernels: (fields.kernels as readonly Json[]).map(kernelFromJson),
    };
    verifyPlan(plan);
  } catch (cause) {
    if (cause instanceof TesseraError) throw cause;
    throw invalid('its structure is damaged', cause);
  }
  return plan;
}
