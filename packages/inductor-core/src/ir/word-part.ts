/**
 * @file Parts of int32 words, recognised in the expression of their values: how packed weights are taken apart.
 */
import type { Expr } from './expr.js';

/** 4 bits of a word less 8, or 8 bits with a sign. The first part is in the lowest bits. */
export interface WordPart {
  readonly word: Expr;
  readonly bits: 4 | 8;
  /** Number of the part. */
  readonly place: Extract<Expr, { kind: 'index' }>;
}

/** The operands of an operation by its name. */
export function operandsOf(expr: Expr | undefined, op: string): readonly Expr[] | null {
  return expr?.kind === 'op' && expr.op === op ? expr.args : null;
}

function isConst(expr: Expr | undefined, value: number): boolean {
  return expr?.kind === 'const' && expr.value === value;
}

function partOf(word: Expr | undefined, shift: Expr | undefined, bits: 4 | 8): WordPart | null {
  const [place, factor] = operandsOf(shift, 'mul') ?? [];
  if (word?.dtype !== 'int32' || place?.kind !== 'index' || !isConst(factor, bits)) return null;
  return { word, bits, place };
}

/** The part of a word that an integer is; null for others. */
export function wordPart(value: Expr | undefined): WordPart | null {
  const [up, down] = operandsOf(value, 'shr') ?? [];
  const [byteWord, by] = operandsOf(up, 'shl') ?? [];
  const [top, byteShift] = operandsOf(by, 'sub') ?? [];
  if (isConst(down, 24) && isConst(top, 24)) return partOf(byteWord, byteShift, 8);
  const [part, eight] = operandsOf(value, 'sub') ?? [];
  const [shifted, mask] = operandsOf(part, 'and') ?? [];
  const [word, shift] = operandsOf(shifted, 'shr') ?? [];
  return isConst(eight, 8) && isConst(mask, 15) ? partOf(word, shift, 4) : null;
}
