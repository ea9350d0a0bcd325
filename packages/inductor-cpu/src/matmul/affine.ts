/**
 * @file Affine indices: reading strides off index expressions, and merging loop variables.
 *
 * An operand that is a plain load at `constant + Σ stride · variable` needs no expression code at all:
 * it is packed by copying, or read where it lies. Several loop variables act as one when the stride of
 * each is the stride of the next times its extent (`[c, kh, kw]` of contiguous weights).
 */
import type { IndexExpr, LoopVar } from '@tessera/inductor-core';

/** `constant + Σ strides[variable] · variable`, in elements. */
export interface AffineIndex {
  readonly constant: number;
  readonly strides: ReadonlyMap<string, number>;
}

/** The affine form of an index, or null when it has divisions, products of variables or run-time values. */
export function affineIndex(index: IndexExpr): AffineIndex | null {
  let constant = 0;
  const strides = new Map<string, number>();
  const pending: { readonly expr: IndexExpr; readonly factor: number }[] = [
    { expr: index, factor: 1 },
  ];
  while (pending.length > 0) {
    const { expr, factor } = pending.pop()!;
    switch (expr.kind) {
      case 'int':
        constant += factor * expr.value;
        break;
      case 'sym':
        strides.set(expr.name, (strides.get(expr.name) ?? 0) + factor);
        break;
      case 'add':
        for (const term of expr.terms) pending.push({ expr: term, factor });
        break;
      case 'mul': {
        const variable = expr.factors.filter((each) => each.kind !== 'int');
        const scale = expr.factors.reduce(
          (product, each) => (each.kind === 'int' ? product * each.value : product),
          factor,
        );
        if (variable.length > 1) return null;
        if (variable.length === 1) pending.push({ expr: variable[0], factor: scale });
        else constant += scale;
        break;
      }
      default:
        return null;
    }
  }
  return { constant, strides };
}

/** Product of the extents. */
export function extent(vars: readonly LoopVar[]): number {
  return vars.reduce((product, each) => product * each.size, 1);
}

/**
 * The stride at which the flattened variables advance, or null when they do not act as one.
 * Variables of extent one do not matter; no variable that matters gives 0.
 */
export function flatStride(index: AffineIndex, vars: readonly LoopVar[]): number | null {
  let stride: number | null = null;
  let step = 1;
  for (const each of vars.toReversed()) {
    if (each.size === 1) continue;
    const own = index.strides.get(each.name) ?? 0;
    if (stride === null) stride = own;
    else if (own !== stride * step) return null;
    step *= each.size;
  }
  return stride ?? 0;
}
