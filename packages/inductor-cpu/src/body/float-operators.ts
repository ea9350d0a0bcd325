/**
 * @file Operations on floats: arithmetic in vector instructions, and the functions of inductor-core's table.
 */
import { type Expr, TRANSCENDENTAL_OPS } from '@tessera/inductor-core';
import { binary, unary, type Operator, type Operators } from './operator.js';
import { tableOperators } from './table-operators.js';
import type { Regs, VectorBuilder } from './vector-builder.js';

type FloatShape = 'f32x4' | 'f64x2';

/** Whether an operand is a constant other than NaN. */
function isNumber(expr: Expr | undefined): boolean {
  return expr?.kind === 'const' && !Number.isNaN(expr.value);
}

/**
 * NaN-propagating extreme of floats. `pmin(x, c)` keeps x where the comparison with it fails, so with a
 * constant second it is the right answer in one instruction instead of about six.
 */
const extreme =
  (shape: FloatShape, name: 'min' | 'max'): Operator =>
  (vb, [a, b], expr) => {
    const [x, y] = [a.regs, b.regs];
    if (isNumber(expr.args[1])) return vb.bin(`${shape}.p${name}`, x, y);
    if (isNumber(expr.args[0])) return vb.bin(`${shape}.p${name}`, y, x);
    return vb.bin(`${shape}.${name}`, x, y);
  };

function one(vb: VectorBuilder, shape: FloatShape): Regs {
  return shape === 'f32x4' ? vb.f32(1) : vb.f64(1);
}

/** Operations that both float kinds do with one or two vector instructions. */
function floatOperators(shape: FloatShape): Operators {
  return {
    add: binary(`${shape}.add`),
    sub: binary(`${shape}.sub`),
    mul: binary(`${shape}.mul`),
    div: binary(`${shape}.div`),
    truncdiv: (vb, [a, b]) => vb.un(`${shape}.trunc`, vb.bin(`${shape}.div`, a.regs, b.regs)),
    neg: unary(`${shape}.neg`),
    abs: unary(`${shape}.abs`),
    sqrt: unary(`${shape}.sqrt`),
    floor: unary(`${shape}.floor`),
    ceil: unary(`${shape}.ceil`),
    round: unary(`${shape}.nearest`),
    trunc: unary(`${shape}.trunc`),
    maximum: extreme(shape, 'max'),
    minimum: extreme(shape, 'min'),
    square: (vb, [a]) => vb.bin(`${shape}.mul`, a.regs, a.regs),
    reciprocal: (vb, [a]) => vb.bin(`${shape}.div`, one(vb, shape), a.regs),
    rsqrt: (vb, [a]) => vb.bin(`${shape}.div`, one(vb, shape), vb.un(`${shape}.sqrt`, a.regs)),
    fma: (vb, [a, b, c]) => vb.bin(`${shape}.add`, vb.bin(`${shape}.mul`, a.regs, b.regs), c.regs),
  };
}

/** Operators that are functions of the table. */
const FUNCTIONS = [
  'sign',
  'copysign',
  'nextafter',
  'floordiv',
  'fmod',
  'remainder',
  'pow',
  ...TRANSCENDENTAL_OPS,
] as const;

/** Operators of f32. */
export const FLOAT32_OPERATORS: Operators = {
  ...floatOperators('f32x4'),
  ...tableOperators(FUNCTIONS, ''),
};

/** Operators of f64. */
export const FLOAT64_OPERATORS: Operators = {
  ...floatOperators('f64x2'),
  ...tableOperators(FUNCTIONS, '_f64'),
};
