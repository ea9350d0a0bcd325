/**
 * @file Affine indices: reading strides off index expressions, and merging loop variables.
 *
 * An operand that is a plain load at `constant + Σ stride · variable` needs no expression code at all:
 * it is packed by copying, or read where it lies. Several loop variables act as one when the stride of
 * each is the stride of the next times its extent (`[c, kh, kw]` of contiguous weights).
 */
import type { IndexExpr, SizedLoop } from '@tessera/inductor-core';
import { type Size, sizeAdd, sizeMul, sizeProduct } from '@tessera/shared';

/** `constant + Σ strides[variable] · variable`, in elements. */
export interface AffineIndex {
  readonly constant: Size;
  readonly strides: ReadonlyMap<string, Size>;
}

/** The affine form of an index, or null when it has divisions, products of variables or run-time values. */
export function affineIndex(index: IndexExpr): AffineIndex | null {
  let constant: Size = 0;
  const strides = new Map<string, Size>();
  const pending: { readonly expr: IndexExpr; readonly factor: Size }[] = [
    { expr: index, factor: 1 },
  ];
  while (pending.length > 0) {
    const { expr, factor } = pending.pop()!;
    switch (expr.kind) {
      case 'int':
        constant = sizeAdd(constant, sizeMul(factor, expr.value));
        break;
      case 'size':
        constant = sizeAdd(constant, sizeMul(factor, expr.size));
        break;
      case 'sym':
        strides.set(expr.name, sizeAdd(strides.get(expr.name) ?? 0, factor));
        break;
      case 'add':
        for (const term of expr.terms) pending.push({ expr: term, factor });
        break;
      case 'mul': {
        const variable = expr.factors.filter(({ kind }) => kind !== 'int' && kind !== 'size');
        let scale: Size = factor;
        for (const each of expr.factors) {
          if (each.kind === 'int') scale = sizeMul(scale, each.value);
          else if (each.kind === 'size') scale = sizeMul(scale, each.size);
        }
        if (variable.length > 1) return null;
        if (variable.length === 1) pending.push({ expr: variable[0], factor: scale });
        else constant = sizeAdd(constant, scale);
        break;
      }
      default:
        return null;
    }
  }
  return { constant, strides };
}

/** Product of the extents. */
export function extent(vars: readonly SizedLoop[]): Size {
  return sizeProduct(vars.map(({ size }) => size));
}

/**
 * The stride at which the flattened variables advance, or null when they do not act as one.
 * Variables of extent one do not matter; no variable that matters gives 0.
 */
export function flatStride(index: AffineIndex, vars: readonly SizedLoop[]): Size | null {
  let stride: Size | null = null;
  let step: Size = 1;
  for (const each of vars.toReversed()) {
    if (each.size === 1) continue;
    const own = index.strides.get(each.name) ?? 0;
    if (stride === null) stride = own;
    else if (own !== sizeMul(stride, step)) return null;
    step = sizeMul(step, each.size);
  }
  return stride ?? 0;
}
