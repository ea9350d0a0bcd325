/**
 * @file Facts about lists of loop variables, of which the last is the fastest.
 */
import { type Size, isMultiple, sizeProduct } from '@tessera/shared';
import type { IrBuilder } from './build.js';
import type { IndexExpr, LoopVar, SizedLoop } from './index-expr.js';

/** Product of the trip counts. */
export function extent(vars: readonly LoopVar[]): number;
export function extent(vars: readonly SizedLoop[]): Size;
export function extent(vars: readonly SizedLoop[]): Size {
  return sizeProduct(vars.map((v) => v.size));
}

/** The place in row-major order. */
export function rowMajor(ir: IrBuilder, vars: readonly SizedLoop[]): IndexExpr {
  let flat = ir.int(0);
  for (const v of vars) flat = ir.add(ir.scale(flat, v.size), ir.sym(v.name, v.size));
  return flat;
}

/** Whether a variable has more than one value, or may have. */
export function moves({ size }: SizedLoop): boolean {
  return typeof size !== 'number' || size > 1;
}

/** The fastest variable that moves at all, or null. */
export function fastest(vars: readonly SizedLoop[]): SizedLoop | null {
  return vars.findLast(moves) ?? null;
}

/** Whether vectors of four cover a variable without a rest, whatever the sizes. */
export function fillsLanes({ size }: SizedLoop): boolean {
  return isMultiple(size, 4);
}
