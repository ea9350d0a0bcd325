/**
 * @file The expressions of a reduction as WGSL: values, and assignments to the variables of its state.
 */
import { operands, postorder, type Expr } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { CodeBlock } from '../code-block.js';
import { literal } from './literals.js';
import { emitOp } from './op-table.js';
import { widen, type Value } from './value.js';
import { computeType, type Width } from './wgsl-types.js';

/** Where expressions are emitted. */
export interface ReductionSite {
  readonly width: Width;
  /** Name of a library function in a width; includes it. */
  helper(name: string, width: Width): string;
  /** A new identifier. */
  fresh(): string;
}

/** The value of a named operand. */
export type Operand = (name: string) => Value;

/** A constant of a dtype. */
export function constantValue(value: number, dtype: DType, site: ReductionSite): Value {
  const type = computeType(dtype);
  const text = literal(value, type, (name) => `${site.helper(name, 1)}()`);
  return { text, type, width: 1, atom: true };
}

/** Emits expressions; what is used twice becomes a variable. */
export function reductionValues(
  block: CodeBlock,
  roots: readonly Expr[],
  operand: Operand,
  site: ReductionSite,
): Value[] {
  const uses = new Map<Expr, number>();
  const order = postorder(roots);
  for (const expr of [...order.flatMap((each) => operands(each)), ...roots])
    uses.set(expr, (uses.get(expr) ?? 0) + 1);
  const known = new Map<Expr, Value>();
  for (const expr of order) {
    const value = emit(expr, (each) => known.get(each)!, operand, site);
    const isShared = !value.atom && uses.get(expr)! > 1;
    known.set(expr, isShared ? named(block, value, site) : value);
  }
  return roots.map((root) => known.get(root)!);
}

function emit(
  expr: Expr,
  known: (expr: Expr) => Value,
  operand: Operand,
  site: ReductionSite,
): Value {
  if (expr.kind === 'const') return constantValue(expr.value, expr.dtype, site);
  if (expr.kind === 'scalar') return operand(expr.name);
  const { op, dtype, args } = expr as Extract<Expr, { kind: 'op' }>;
  const values = args.map(known);
  const width = values.reduce<Width>((most, each) => (each.width > most ? each.width : most), 1);
  const text = emitOp(
    {
      op,
      dtype,
      from: args[0]!.dtype,
      types: values.map(({ type }) => type),
      width,
      helper: (name) => site.helper(name, width),
    },
    values.map((value) => widen(value, width)),
  );
  return { text, type: computeType(dtype), width, atom: false };
}

/** A value under a name of its own. */
export function named(block: CodeBlock, value: Value, site: ReductionSite): Value {
  const name = site.fresh();
  block.line(`let ${name} = ${bare(value.text)};`);
  return { ...value, text: name, atom: true };
}

/** Assigns values that were all computed from what the variables hold now. */
export function assignAll(
  block: CodeBlock,
  variables: readonly Value[],
  values: readonly Value[],
  site: ReductionSite,
): void {
  const mentions = (text: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
  const kept = values.map((value, i) =>
    variables.slice(0, i).some(({ text }) => mentions(value.text, text))
      ? named(block, value, site)
      : value,
  );
  variables.forEach(({ text, width }, i) => {
    const value = widen(kept[i]!, width);
    if (value !== text) block.line(`${text} = ${bare(value)};`);
  });
}

/** A text without parentheses around all of it. */
function bare(text: string): string {
  if (!text.startsWith('(')) return text;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth++;
    else if (text[i] === ')' && --depth === 0)
      return i === text.length - 1 ? text.slice(1, -1) : text;
  }
  return text;
}
