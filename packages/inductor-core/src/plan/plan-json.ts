/**
 * @file Plans as JSON text: for the disk cache and for shipping compiled graphs.
 *
 * JSON has no NaN, infinities or -0, so those numbers are written as strings. Shared expressions are
 * written once and referred to by number: a fused expression is a graph, and as a tree it could be
 * exponentially large.
 */
import { JsonField, encodeNumber } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr, Stmt } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { FusedKernel } from '../ir/kernel.js';
import { checkAt } from '../ir/kernel-checks.js';
import type { GeneratedKernel } from '../ir/kernel-parts.js';
import { postorder, stmtRoots } from '../ir/walk.js';
import { checkRuns } from './checked-executable.js';
import type { ExecutionPlan } from './execution-plan.js';
import { checkPlanArguments } from './plan-arguments.js';
import { externArgToJson } from './read-kernel.js';
import { readPlan } from './read-plan.js';
import { verifyPlan } from './verify-plan.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Fields = { readonly [key: string]: Json };

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
      case 'size':
        throw new TesseraError(
          'plan-invalid',
          `A plan with the symbolic size ${String(e.size)} has no text.`,
          { hints: ['Write the plan for the sizes that you need.'] },
        );
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
        return { ...expr, value: encodeNumber(expr.value) };
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
          other: encodeNumber(expr.other),
        };
      case 'check':
        return {
          ...expr,
          check: checkAt(expr.check, Number),
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
  if (kernel.kind === 'extern')
    return { ...kernel, args: kernel.args.map(externArgToJson) } as unknown as Json;
  const writer = new ExprWriter();
  const body = bodyToJson(kernel, writer);
  return { ...(kernel as unknown as Fields), ...body, exprs: writer.list };
}

function bodyToJson(kernel: GeneratedKernel, writer: ExprWriter): Fields {
  const stmts = (body: readonly Stmt[]): Json => body.map((stmt) => writer.stmt(stmt));
  const refs = (exprs: readonly Expr[]): Json => exprs.map((expr) => writer.ref(expr));
  switch (kernel.kind) {
    case 'loop':
      return { stages: kernel.stages.map(({ kind, body }) => ({ kind, body: stmts(body) })) };
    case 'matmul':
      return {
        a: writer.ref(kernel.a),
        b: writer.ref(kernel.b),
        epilogue: stmts(kernel.epilogue),
      };
    case 'attention':
      return {
        scores: kernel.scores.map(({ a, b }) => ({ a: writer.ref(a), b: writer.ref(b) })),
        weights: refs(kernel.weights),
        values: refs(kernel.values),
        columnSums: kernel.columnSums.map((sum) => ({ ...sum, value: writer.ref(sum.value) })),
        epilogue: stmts(kernel.epilogue),
        rowStores: stmts(kernel.rowStores),
        columnStores: stmts(kernel.columnStores),
        weightStores: stmts(kernel.weightStores),
      };
    case 'recurrence':
      return {
        states: kernel.states.map(({ initial, next }) => ({
          initial: writer.ref(initial),
          next: writer.ref(next),
        })),
        vectors: refs(kernel.vectors),
        products: kernel.products.map((terms) =>
          terms.map(({ vector, weight }) => ({ vector, weight: writer.ref(weight) })),
        ),
        stores: stmts(kernel.stores),
        lastStores: stmts(kernel.lastStores),
      };
  }
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
    values: constant.values.map(encodeNumber),
  }));
  return JSON.stringify({
    format: 'tessera-plan',
    ...plan,
    constants,
    kernels: plan.kernels.map(kernelToJson),
  });
}

/** What a plan from a text is for. */
export interface PlanReader {
  /** Bytes per element in the memory of the plan's device, where they differ from the host's. */
  readonly itemSize?: (dtype: DType) => number;
}

/**
 * The plan in a JSON text that may come from anywhere. Names, operators, types and sizes are checked, and every load
 * and store is proven to lie inside its buffer, before anything is made of it.
 *
 * @param reader for a device with other element sizes than the host's: the `capabilities` of its backend
 * @throws plan-invalid
 */
export function planFromJson(text: string, { itemSize }: PlanReader = {}): ExecutionPlan {
  if (typeof text !== 'string') throw invalid('it is no text');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
  const json = new JsonField(value, invalid);
  if (!json.isRecord || json.field('format').value !== 'tessera-plan')
    throw invalid("it is not a plan (its 'format' is not 'tessera-plan')");
  const version = json.field('version').value;
  if (version !== 1)
    throw invalid(
      `it has ${typeof version === 'number' ? `version ${version}` : 'no version'}, this runtime reads version 1`,
    );
  const plan = readPlan(json);
  verifyPlan(plan, itemSize);
  return checkRuns(plan, checkPlanArguments);
}
