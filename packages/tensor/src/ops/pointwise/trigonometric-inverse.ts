/**
 * @file Inverse and hyperbolic functions, angles and lengths.
 */
import { pointwise, unary } from '../../kernels/pointwise-kernel.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import {
  type TensorBinary,
  type Unary,
  binaryFunction,
  unaryFunction,
} from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { eq } from './comparison.js';
import { div } from './division.js';
import { reciprocal, rsqrt } from './exponential.js';
import { maskedFill } from './fill.js';
import { zerosLike } from '../factory/like.js';
import { add, mul, neg, sub } from './arithmetic.js';
import { rsub } from './rsub.js';
import { cos, sin } from './trigonometric.js';
import { where } from './where.js';

/** A function whose derivative is a function of its argument. */
function define(
  name: string,
  fn: (x: number) => number,
  gradient: (grad: Tensor, x: Tensor) => Tensor,
): OpOverload<Tensor> {
  return defineOp(
    `aten::${name}(Tensor self) -> Tensor`,
    unary(fn, {
      result: 'float',
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => gradient(grad, self) }),
    }),
  );
}

const square = (x: Tensor): Tensor => mul(x, x);

const acosOp = define('acos', Math.acos, (grad, x) => neg(mul(grad, rsqrt(rsub(square(x), 1)))));
const asinOp = define('asin', Math.asin, (grad, x) => mul(grad, rsqrt(rsub(square(x), 1))));
const acoshOp = define('acosh', Math.acosh, (grad, x) => mul(grad, rsqrt(sub(square(x), 1))));
const asinhOp = define('asinh', Math.asinh, (grad, x) => mul(grad, rsqrt(add(square(x), 1))));
const atanhOp = define('atanh', Math.atanh, (grad, x) => div(grad, rsub(square(x), 1)));
const sinhOp = define('sinh', Math.sinh, (grad, x) => mul(grad, cosh(x)));
const coshOp = define('cosh', Math.cosh, (grad, x) => mul(grad, sinh(x)));
const DEGREE = Math.PI / 180;
const deg2radOp = define(
  'deg2rad',
  (x) => x * DEGREE,
  (grad) => mul(grad, DEGREE),
);
const rad2degOp = define(
  'rad2deg',
  (x) => x / DEGREE,
  (grad) => mul(grad, 1 / DEGREE),
);
const angleOp = define(
  'angle',
  (x) => (Number.isNaN(x) ? x : x < 0 ? Math.PI : 0),
  (grad) => zerosLike(grad),
);
const sincOp = define(
  'sinc',
  (x) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)),
  (grad, x) => {
    const angle = mul(x, Math.PI);
    const denominator = mul(square(x), Math.PI);
    const slope = div(sub(mul(angle, cos(angle)), sin(angle)), denominator);
    return where(eq(denominator, 0), 0, mul(grad, slope));
  },
);

const atan2Op = defineOp(
  'aten::atan2(Tensor self, Tensor other) -> Tensor',
  pointwise(Math.atan2, {
    name: 'atan2',
    result: 'float',
    saved: ['self', 'other'],
    vjp: ({ self, other }, { grad }) => {
      // At the origin, and where squares underflow, there is no direction to turn.
      const scaled = (): Tensor => {
        const length = add(square(self), square(other));
        return mul(grad, maskedFill(reciprocal(length), eq(length, 0), 0));
      };
      return {
        self: () => mul(scaled(), other),
        other: () => neg(mul(scaled(), self)),
      };
    },
  }),
);
const hypotOp = defineOp(
  'aten::hypot(Tensor self, Tensor other) -> Tensor',
  restrictedTo(
    'floating',
    'hypot',
    pointwise(Math.hypot, {
      name: 'hypot',
      saved: ['out'],
      savedFor: { self: ['self'], other: ['other'] },
      vjp: ({ self, other }, { grad, out }) => ({
        self: () => mul(grad, div(self, out)),
        other: () => mul(grad, div(other, out)),
      }),
    }),
  ),
);

/** Arc cosine. */
export const acos: Unary = unaryFunction(acosOp);
/** self = acos(self) */
export const acos_: Unary = unaryFunction(defineInplace(acosOp));
/** Arc sine. */
export const asin: Unary = unaryFunction(asinOp);
/** self = asin(self) */
export const asin_: Unary = unaryFunction(defineInplace(asinOp));
/** Inverse hyperbolic cosine. */
export const acosh: Unary = unaryFunction(acoshOp);
/** self = acosh(self) */
export const acosh_: Unary = unaryFunction(defineInplace(acoshOp));
/** Inverse hyperbolic sine. */
export const asinh: Unary = unaryFunction(asinhOp);
/** self = asinh(self) */
export const asinh_: Unary = unaryFunction(defineInplace(asinhOp));
/** Inverse hyperbolic tangent. */
export const atanh: Unary = unaryFunction(atanhOp);
/** self = atanh(self) */
export const atanh_: Unary = unaryFunction(defineInplace(atanhOp));
/** Hyperbolic sine. */
export const sinh: Unary = unaryFunction(sinhOp);
/** self = sinh(self) */
export const sinh_: Unary = unaryFunction(defineInplace(sinhOp));
/** Hyperbolic cosine. */
export const cosh: Unary = unaryFunction(coshOp);
/** self = cosh(self) */
export const cosh_: Unary = unaryFunction(defineInplace(coshOp));
/** Degrees as radians. */
export const deg2rad: Unary = unaryFunction(deg2radOp);
/** self = deg2rad(self) */
export const deg2rad_: Unary = unaryFunction(defineInplace(deg2radOp));
/** Radians as degrees. */
export const rad2deg: Unary = unaryFunction(rad2degOp);
/** self = rad2deg(self) */
export const rad2deg_: Unary = unaryFunction(defineInplace(rad2degOp));
/** The argument of a number in the complex plane: π for negative numbers, 0 for others, NaN for NaN. */
export const angle: Unary = unaryFunction(angleOp);
/** sin(πx) / (πx), 1 at 0. */
export const sinc: Unary = unaryFunction(sincOp);
/** self = sinc(self) */
export const sinc_: Unary = unaryFunction(defineInplace(sincOp));
/** The angle of (other, self), from -π to π. @throws shape-mismatch */
export const atan2: TensorBinary = binaryFunction(atan2Op);
/** self = atan2(self, other) */
export const atan2_: TensorBinary = binaryFunction(defineInplace(atan2Op));
/** √(self² + other²), without overflow. @throws shape-mismatch, dtype-unsupported for integers */
export const hypot: TensorBinary = binaryFunction(hypotOp);
/** self = hypot(self, other) */
export const hypot_: TensorBinary = binaryFunction(defineInplace(hypotOp));
