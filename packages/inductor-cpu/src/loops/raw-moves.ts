/**
 * @file Kernels that move 16-bit floats or bools, as integers of their size: joins, padding, gathers, transposes, `where`.
 *
 * A float16 that is computed with becomes 32 bits in seven instructions and 16 again in sixteen; one that only goes elsewhere needs
 * none. This says which elements only go elsewhere, and of which type they are in the kernel then: the schedule for vectors does the rest.
 */
import {
  type Expr,
  type LoopKernel,
  type Stmt,
  operands,
  postorder,
  scheduleVectors,
  stmtRoots,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { numberToBfloat, numberToHalf } from '@tessera/tensor/internal';
import { CPU_TARGET } from './cpu-target.js';
import { emitScheduled } from './emit-scheduled.js';
import type { LoopForm } from './loop-forms.js';

/** A type of elements, and what they are when they move. */
interface Moved {
  readonly dtype: DType;
  readonly as: DType;
  /** How a constant lies in memory. */
  readonly bits: (value: number) => number;
}

const signed = (bits: number): number => (bits << 16) >> 16;
const MOVED: readonly Moved[] = [
  // Constants are float32 first, as where 16-bit floats are computed with.
  { dtype: 'float16', as: 'int16', bits: (value) => signed(numberToHalf(Math.fround(value))) },
  { dtype: 'bfloat16', as: 'int16', bits: (value) => signed(numberToBfloat(Math.fround(value))) },
  { dtype: 'bool', as: 'uint8', bits: (value) => (value === 0 ? 0 : 1) },
];

/** The operands of which an expression is one, as it is; null for what computes. */
function choices(expr: Expr): readonly Expr[] | null {
  switch (expr.kind) {
    case 'load':
    case 'const':
      return [];
    case 'masked':
      return [expr.body];
    case 'check':
      return [expr.value];
    default:
      return expr.kind === 'op' && expr.op === 'where' ? expr.args.slice(1) : null;
  }
}

/** What stores to buffers of a type write, where that is elements of such buffers or constants; null if not. */
function movedValues(roots: readonly Expr[]): Set<Expr> | null {
  const moved = new Set<Expr>();
  const stack = [...roots];
  while (stack.length > 0) {
    const expr = stack.pop()!;
    if (moved.has(expr)) continue;
    const next = choices(expr);
    if (next === null) return null;
    moved.add(expr);
    stack.push(...next);
  }
  return moved;
}

/** Whether a type's elements are moved and nothing else: neither compared nor computed with, nor read as a condition. */
function onlyMoves(
  kernel: LoopKernel<Size>,
  order: readonly Expr[],
  moved: ReadonlySet<Expr>,
  dtype: DType,
): boolean {
  const isOfType = new Map(kernel.params.map((param) => [param.name, param.dtype === dtype]));
  const isElsewhere = (expr: Expr): boolean => {
    if (!moved.has(expr))
      return (
        (expr.kind === 'load' && isOfType.get(expr.buf) === true) ||
        operands(expr).some((operand) => moved.has(operand))
      );
    if (expr.dtype !== dtype) return true;
    const chosen = choices(expr)!;
    return operands(expr).some((operand) => moved.has(operand) && !chosen.includes(operand));
  };
  const isOther = (stmt: Stmt): boolean =>
    moved.has(stmt.value) && !(stmt.kind === 'store' && isOfType.get(stmt.buf) === true);
  return (
    order.some((expr) => expr.kind === 'load' && moved.has(expr)) &&
    !order.some(isElsewhere) &&
    !kernel.stages.some(({ body }) => body.some(isOther))
  );
}

/** The kernel with a type's elements as integers. */
function asIntegers(
  kernel: LoopKernel<Size>,
  order: readonly Expr[],
  moved: ReadonlySet<Expr>,
  { dtype, as, bits }: Moved,
): LoopKernel<Size> {
  const made = new Map<Expr, Expr>();
  const of = (expr: Expr): Expr => made.get(expr) ?? expr;
  const rebuilt = (expr: Expr): Expr => {
    switch (expr.kind) {
      case 'const':
        return { ...expr, dtype: as, value: bits(expr.value) };
      case 'masked':
        return { ...expr, dtype: as, body: of(expr.body), other: bits(expr.other) };
      case 'check':
        return { ...expr, dtype: as, value: of(expr.value) };
      case 'op':
        return { ...expr, dtype: as, args: expr.args.map(of) };
      default:
        return { ...expr, dtype: as };
    }
  };
  for (const expr of order) if (moved.has(expr)) made.set(expr, rebuilt(expr));
  return {
    ...kernel,
    params: kernel.params.map((param) => (param.dtype === dtype ? { ...param, dtype: as } : param)),
    stages: kernel.stages.map((stage) => ({
      ...stage,
      body: stage.body.map((stmt) => ({ ...stmt, value: of(stmt.value) })),
    })),
  };
}

/** A kernel whose 16-bit floats and bools are integers where they are only moved; the kernel itself if there are none. */
export function movedAsIntegers(kernel: LoopKernel<Size>): LoopKernel<Size> {
  return MOVED.reduce((current, type) => {
    const stmts = current.stages.flatMap(({ body }) => body);
    const written = new Set(
      current.params.filter((param) => param.dtype === type.dtype).map(({ name }) => name),
    );
    const values = stmts.flatMap((stmt) =>
      stmt.kind === 'store' && written.has(stmt.buf) ? [stmt.value] : [],
    );
    const moved = values.length === 0 ? null : movedValues(values);
    if (moved === null) return current;
    const order = postorder(stmts.flatMap(stmtRoots));
    return onlyMoves(current, order, moved, type.dtype)
      ? asIntegers(current, order, moved, type)
      : current;
  }, kernel);
}

/** See the file header. */
export const rawMoves: LoopForm = (kernel, options) => {
  const moving = movedAsIntegers(kernel);
  if (moving === kernel) return null;
  const scheduled = scheduleVectors(moving, CPU_TARGET);
  return { ...emitScheduled(moving, scheduled, options), schedule: () => scheduled };
};
