/**
 * @file Lowerings of products with weights of 8 or 4 bits: words are taken apart in the product's own loop, so no float
 * copy of the weight is made.
 */
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { numelOf } from '../shape-math.js';
import { contract } from './contract.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** The number of `bits` bits at column k of row n, sign-extended or not, as int32. */
function part(
  l: Lowering,
  words: LoweredTensor,
  [n, k]: readonly [IndexExpr, IndexExpr],
  { bits, signed }: { readonly bits: number; readonly signed: boolean },
): Expr {
  const perWord = 32 / bits;
  const whole = (value: number): Expr => l.ir.const('int32', value);
  const word = words.load([n, l.ir.div(k, perWord)]);
  const shift = l.ir.op('mul', [l.ir.index('int32', l.ir.mod(k, perWord)), whole(bits)]);
  if (!signed) return l.ir.op('and', [l.ir.op('shr', [word, shift]), whole(2 ** bits - 1)]);
  // Up to the highest bit, and down again with the sign.
  const up = l.ir.op('shl', [word, l.ir.op('sub', [whole(32 - bits), shift])]);
  return l.ir.op('shr', [up, whole(32 - bits)]);
}

/** x [M, K] times what `weight` gives for row n and column k. */
function product(
  l: Lowering,
  x: LoweredTensor,
  words: LoweredTensor,
  weight: (n: IndexExpr, k: IndexExpr) => Expr,
): LoweredTensor {
  const [m, inner] = x.sizes;
  const rows = words.sizes[0]!;
  const matrix = {
    columns: rows,
    stored: numelOf(words.shape),
    at: (k: IndexExpr, n: IndexExpr) => weight(n, k),
  };
  const factored = l.capabilities.factoredRows?.product(l, x, matrix, x.dtype) ?? null;
  if (factored !== null) return factored;
  const left = readyOperand(l, x);
  const few = l.capabilities.packedRows;
  return contract(l, {
    shape: { batch: [], m: [m], n: [rows], k: [inner] },
    a: (_, [i], [k]) => left.load([i!, k!]),
    b: (_, [k], [n]) => weight(n!, k!),
    sizes: [m, rows],
    dtype: x.dtype,
    layout: null,
    fewRows: few !== undefined && inner % few.step === 0 ? few.rows : 1,
    coords: (p) => [p.m[0]!, p.n[0]!],
    decode: ([i, n]) => ({ batch: [], m: [i!], n: [n!] }),
  });
}

const int8: LoweringOf<'aten::_weight_int8pack_mm'> = (l, [x, words, scale]) => {
  const dtype = accumulateDtype(x.dtype);
  const ready = readyOperand(l, words);
  const value = (n: IndexExpr, k: IndexExpr): Expr =>
    l.ir.cast(part(l, ready, [n, k], { bits: 8, signed: true }), dtype);
  if (scale.shape.length === 2) {
    const steps = readyOperand(l, scale);
    const group = x.sizes[1]! / scale.sizes[0]!;
    return product(l, x, words, (n, k) =>
      l.ir.op('mul', [value(n, k), l.ir.cast(steps.load([l.ir.div(k, group), n]), dtype)]),
    );
  }
  const sum = product(l, x, words, value);
  const factor = l.ir.cast(scale.load([l.vars(sum.shape)[1]!]), sum.dtype);
  return l.pointwise(sum.shape, l.ir.op('mul', [sum.expr, factor]));
};

const int4: LoweringOf<'aten::_weight_int4pack_mm'> = (l, [x, words, group, scales]) => {
  const [ready, steps] = [readyOperand(l, words), readyOperand(l, scales)];
  const dtype = accumulateDtype(x.dtype);
  return product(l, x, words, (n, k) => {
    const value = part(l, ready, [n, k], { bits: 4, signed: false });
    const centered = l.ir.op('sub', [value, l.ir.const('int32', 8)]);
    const [scale, zero] = [0, 1].map((i) =>
      l.ir.cast(steps.load([l.ir.div(k, Number(group)), n, l.ir.int(i)]), dtype),
    );
    return l.ir.op('add', [l.ir.op('mul', [l.ir.cast(centered, dtype), scale]), zero]);
  });
};

/** Lowerings by overload name. */
export const weightOnlyLowerings: LoweringTable = lowerings({
  'aten::_weight_int8pack_mm': int8,
  'aten::_weight_int4pack_mm': int4,
});
