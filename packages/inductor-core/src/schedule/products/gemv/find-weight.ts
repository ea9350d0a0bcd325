/**
 * @file Weights of fewer than 32 bits, recognised in the expression of their values.
 */
import { operandsOf, wordPart, type WordPart } from '../../../ir/word-part.js';
import type { Expr } from '../../../ir/expr.js';
import type { BufferParam } from '../../../ir/kernel.js';
import { coefficientOf, isLinear, isVariable, type LinearForm } from '../../../ir/linear-form.js';
import type { ColumnPlace, GroupScales, NarrowWeight } from '../../kernel/narrow-weight.js';
import type { LoopSpace } from '../../vectors/loop-space.js';

/** A digit of k, or of the column; `unit` is how many one more of it is. */
export interface Digit {
  readonly name: string;
  readonly size: number;
  readonly unit: number;
}

/** The variables of a product with few rows. */
export interface GemvLoops {
  readonly space: LoopSpace;
  /** The variable of the rows; null where there is one. */
  readonly row: { readonly name: string; readonly size: number } | null;
  /** Digits of the column and of k; the last one moves fastest. */
  readonly column: readonly Digit[];
  readonly columns: number;
  readonly digits: readonly Digit[];
  readonly depth: number;
}

function uncast(expr: Expr): Expr {
  return operandsOf(expr, 'cast')?.[0] ?? expr;
}

/** The step of a variable in an index. */
function stepOf(form: LinearForm, name: string): number {
  return Number(coefficientOf(form, name));
}

/** Where a load goes, if by one step for each `unit` of k, and none within it. */
function placeOf(
  load: Expr | undefined,
  { space, row, column, digits }: GemvLoops,
  unit: number,
  step: number,
): ColumnPlace | null {
  if (load?.kind !== 'load') return null;
  const form = space.linear(load.index);
  if (!isLinear(form) || typeof form.constant !== 'number') return null;
  const fits = digits.every(
    (digit) => stepOf(form, digit.name) === (digit.unit < unit ? 0 : (digit.unit / unit) * step),
  );
  const columnStep = stepOf(form, column.at(-1)!.name);
  const isRow = column.every((digit) => stepOf(form, digit.name) === digit.unit * columnStep);
  if (row !== null && stepOf(form, row.name) !== 0) return null;
  return fits && isRow ? { buf: load.buf, constant: form.constant, step: columnStep } : null;
}

/** Whether a value is a part of a word, of so many bits, whose number is the last digit of k; its word. */
function wordOf(
  value: Expr | undefined,
  bits: WordPart['bits'],
  loops: GemvLoops,
): ColumnPlace | null {
  const found = wordPart(value);
  const { space, digits } = loops;
  const part = digits.at(-1)!;
  if (found?.bits !== bits || part.size !== 32 / bits) return null;
  const form = space.linear(found.place.index);
  return isVariable(form, part.name) ? placeOf(found.word, loops, 32 / bits, 1) : null;
}

/** Longer groups are left to the general code. In fixed point the sums of a group, of 2^14 times 2^7, must fit 32 bits. */
const MAX_GROUP = 256;

/** Whether an expression loads a scale of each group, of `step` k or a multiple of it. */
function groupScales(expr: Expr | undefined, loops: GemvLoops, step: number): GroupScales | null {
  const load = expr && uncast(expr);
  if (load?.kind !== 'load' || load.dtype !== 'float32') return null;
  const form = loops.space.linear(load.index);
  const digit = loops.digits.findLast(({ name }) => stepOf(form, name) !== 0);
  const group = digit?.unit ?? loops.depth;
  const groupStep = digit === undefined ? 0 : stepOf(form, digit.name);
  const scale = placeOf(load, loops, group, groupStep);
  if (scale === null || group % step !== 0 || group > MAX_GROUP) return null;
  return { group, scale, groupStep };
}

function int8(expr: Expr, loops: GemvLoops): NarrowWeight | null {
  const [value, scale] = operandsOf(expr, 'mul') ?? [expr];
  const row = wordOf(uncast(value!), 8, loops);
  if (row === null) return null;
  if (scale === undefined) return { format: 'int8', row, scales: null };
  const scales = groupScales(scale, loops, 8);
  return scales && { format: 'int8', row, scales };
}

function int4(expr: Expr, loops: GemvLoops): NarrowWeight | null {
  const [product, zeroCast] = operandsOf(expr, 'add') ?? [];
  const [centered, scaleCast] = operandsOf(product, 'mul') ?? [];
  const row = wordOf(centered && uncast(centered), 4, loops);
  const scales = groupScales(scaleCast, loops, 32);
  if (row === null || scales === null) return null;
  const { group, groupStep, scale } = scales;
  const zero = placeOf(uncast(zeroCast!), loops, group, groupStep);
  if (zero?.buf !== scale.buf || zero.step !== scale.step) return null;
  const zeroStep = zero.constant - scale.constant;
  return zeroStep > 0 ? { format: 'int4', row, scales, zeroStep } : null;
}

/** The weight whose value at (column, k) an expression is; null for others. */
export function narrowWeight(
  expr: Expr,
  loops: GemvLoops,
  params: readonly BufferParam[],
): NarrowWeight | null {
  const value = uncast(expr);
  if (value.kind !== 'load') return int8(value, loops) ?? int4(value, loops);
  const format = params.find(({ name }) => name === value.buf)!.dtype;
  if (format !== 'float16' && format !== 'bfloat16') return null;
  const row = placeOf(value, loops, 1, 1);
  return row && { format, row };
}
