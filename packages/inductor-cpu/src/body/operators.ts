/**
 * @file Emits one IR operation on vector values: arithmetic, comparisons, logic and selection.
 *
 * What each operation means is defined by `evalScalar` of inductor-core; this agrees with it up to the
 * stated error of transcendental functions. Operations without vector instructions go lane by lane,
 * they alone: the rest of the kernel stays in vectors.
 */
import { TesseraError } from '@tessera/shared';
import type { BinaryVectorOp } from '../emit/instructions.js';
import { castTo } from './convert.js';
import { kindOf, SHAPES, type ElementKind } from './element-kind.js';
import { FLOAT32_OPERATORS, FLOAT64_OPERATORS } from './float-operators.js';
import { BOOL_OPERATORS, integerOperators } from './integer-operators.js';
import type { OpExpr, Operators } from './operator.js';
import { boolValue, joinRegs, maskFor, narrowRegs, type Value } from './value.js';
import type { VectorBuilder } from './vector-builder.js';

const OPERATORS: Readonly<Record<ElementKind, Operators>> = {
  f32: FLOAT32_OPERATORS,
  f64: FLOAT64_OPERATORS,
  i32: integerOperators('i32'),
  i64: integerOperators('i64'),
  bool: BOOL_OPERATORS,
};

const COMPARISONS = { eq: 'eq', ne: 'ne', lt: 'lt', le: 'le', gt: 'gt', ge: 'ge' } as const;

/** The value of `expr`, whose operands are `args`. @throws kernel-missing when a dtype has no such operation */
export function applyOperator(vb: VectorBuilder, expr: OpExpr, args: readonly Value[]): Value {
  const { op: name } = expr;
  const uniform = args.every((arg) => arg.uniform);
  const first = args[0];
  if (name === 'cast') return castTo(vb, first, expr.dtype);
  if (name === 'where') return selectValue(vb, args, uniform);
  if (name === 'isnan' || name === 'isinf') return classify(vb, name, first);
  if (name in COMPARISONS) return compare(vb, name as keyof typeof COMPARISONS, args, uniform);
  if (name === 'within') {
    const limit = expr.args[1];
    return first.kind === 'i64' && limit?.kind === 'const' && limit.value < 2 ** 31
      ? isWithinSmall(vb, first, limit.value)
      : isWithin(vb, args, uniform);
  }
  const kind = kindOf(expr.dtype);
  const operator = OPERATORS[kind][name];
  if (operator === undefined) {
    throw new TesseraError(
      'kernel-missing',
      `The CPU backend has no '${name}' for ${expr.dtype}.`,
      {
        context: { op: name, dtype: expr.dtype },
        hints: ['Convert the operands to a floating dtype first.'],
      },
    );
  }
  return { kind, uniform, regs: operator(vb, args, expr) };
}

function selectValue(vb: VectorBuilder, args: readonly Value[], uniform: boolean): Value {
  const [condition, a, b] = args;
  return { kind: a.kind, uniform, regs: vb.select(maskFor(vb, condition, a.kind), a.regs, b.regs) };
}

function classify(vb: VectorBuilder, name: 'isnan' | 'isinf', x: Value): Value {
  if (x.kind === 'i32' || x.kind === 'i64' || x.kind === 'bool')
    return { kind: 'bool', uniform: true, regs: vb.i32(0) };
  const shape = x.kind === 'f32' ? 'f32x4' : 'f64x2';
  const infinity = shape === 'f32x4' ? vb.f32(Infinity) : vb.f64(Infinity);
  const regs =
    name === 'isnan'
      ? vb.bin(`${shape}.ne`, x.regs, x.regs)
      : vb.bin(`${shape}.eq`, vb.un(`${shape}.abs`, x.regs), infinity);
  return boolValue(vb, x.kind, x.uniform, regs);
}

/** 0 ≤ a < b: as unsigned numbers, a < b. */
function isWithin(vb: VectorBuilder, args: readonly Value[], uniform: boolean): Value {
  const [a, b] = args;
  if (a.kind === 'i64') {
    // There is no unsigned comparison of 64-bit lanes, but nearly every limit fits in 32 bits.
    const zero: Value = { kind: 'i64', uniform: true, regs: vb.i64(0n) };
    const [above, below] = [
      compare(vb, 'ge', [a, zero], a.uniform),
      compare(vb, 'lt', args, uniform),
    ];
    return { kind: 'bool', uniform, regs: vb.bin('v128.and', above.regs, below.regs) };
  }
  return { kind: 'bool', uniform, regs: vb.bin('i32x4.lt_u', a.regs, b.regs) };
}

/** The same for 64-bit values and a limit of 31 bits: the upper halves are zero and the lower ones below it. */
function isWithinSmall(vb: VectorBuilder, a: Value, limit: number): Value {
  const low = narrowRegs(vb, a);
  const high = joinRegs(vb, a, [1, 3, 5, 7]);
  const isSmall = vb.bin('i32x4.eq', high, vb.i32(0));
  const isBelow = vb.bin('i32x4.lt_u', low, vb.i32(limit));
  return { kind: 'bool', uniform: a.uniform, regs: vb.bin('v128.and', isSmall, isBelow) };
}

function compare(
  vb: VectorBuilder,
  name: keyof typeof COMPARISONS,
  args: readonly Value[],
  uniform: boolean,
): Value {
  const [a, b] = args;
  if (a.kind === 'bool') {
    // True is the mask -1, so the order of signed lanes is the reverse of the order of bools.
    const swapped = { eq: 'eq', ne: 'ne', lt: 'gt_s', le: 'ge_s', gt: 'lt_s', ge: 'le_s' } as const;
    return { kind: 'bool', uniform, regs: vb.bin(`i32x4.${swapped[name]}`, a.regs, b.regs) };
  }
  const shape = SHAPES[a.kind];
  const signed = (shape === 'i32x4' || shape === 'i64x2') && name !== 'eq' && name !== 'ne';
  return boolValue(
    vb,
    a.kind,
    uniform,
    vb.bin(`${shape}.${name}${signed ? '_s' : ''}` as BinaryVectorOp, a.regs, b.regs),
  );
}
