/**
 * @file Element by element: arithmetic, functions, comparisons, broadcasting, element types, numbers.
 */
import { type DType, bitwiseXor, erf, remainder, where } from '@tessera/tensor';
import { type ConformanceCase, ramp, whole } from '../conformance-case.js';

const pair = (call: number) => [ramp([3, 5], call), ramp([3, 5], call + 10)];

/** Conversions between element types and arithmetic in them. */
function dtypeCase(dtype: DType): ConformanceCase {
  return {
    name: `dtypes: arithmetic in ${dtype}, and conversions`,
    dtypes: [dtype],
    inputs: (call) => [whole([4, 6], 7, call, dtype), ramp([4, 6], call)],
    run: (x, y) => [x!.add(x!), x!.mul(x!), y!.mul(4).to(dtype), x!.to('float32').div(2), x!.sum()],
  };
}

/** See the file header. */
export const POINTWISE_CASES: readonly ConformanceCase[] = [
  {
    name: 'pointwise: arithmetic',
    inputs: pair,
    run: (x, y) => x!.add(y!).mul(x!).sub(y!.mul(3)).div(y!.abs().add(1)).neg(),
  },
  {
    name: 'pointwise: a long chain is one value',
    inputs: (call) => [ramp([17], call)],
    run: (x) => Array.from({ length: 40 }).reduce((y: typeof x) => y!.mul(0.5).add(x!), x),
  },
  {
    name: 'pointwise: exponentials and logarithms',
    inputs: pair,
    run: (x, y) => [x!.exp(), x!.abs().add(0.1).log(), x!.expm1(), y!.abs().log1p(), x!.exp2()],
  },
  {
    name: 'pointwise: trigonometry',
    inputs: pair,
    run: (x, y) => [x!.sin(), x!.cos(), y!.tanh(), y!.atan(), x!.atan2(y!), x!.div(2.1).asin()],
  },
  {
    name: 'pointwise: powers, roots, rounding',
    inputs: pair,
    run: (x, y) => [
      x!.abs().pow(y!),
      x!.square(),
      x!.abs().sqrt(),
      x!.abs().add(0.1).rsqrt(),
      x!.mul(3).floor(),
      x!.mul(3).ceil(),
      x!.mul(3).round(),
      x!.mul(3).trunc(),
    ],
  },
  {
    name: 'pointwise: sigmoid, relu, gelu, erf',
    inputs: pair,
    run: (x, y) => [x!.sigmoid(), x!.relu(), erf(y!), x!.sigmoid().mul(x!)],
  },
  {
    name: 'pointwise: comparisons, logic and where',
    inputs: pair,
    run: (x, y) => [
      x!.gt(y!),
      x!.le(0).logicalOr(y!.gt(1)),
      where(x!.lt(y!), x!, y!.mul(2)),
      x!.eq(x!).logicalNot(),
    ],
  },
  {
    name: 'pointwise: extremes and clamping',
    inputs: pair,
    run: (x, y) => [x!.maximum(y!), x!.minimum(y!), x!.clamp(-0.5, 0.75)],
  },
  {
    name: 'pointwise: NaN and infinities',
    inputs: (call) => [
      ramp([6], call)
        .div(whole([6], 2, call))
        .log(),
    ],
    run: (x) => [x!.isnan(), x!.isinf(), x!.maximum(x!.flip([0])), x!.mul(2), x!.abs()],
  },
  {
    name: 'pointwise: broadcasting',
    inputs: (call) => [ramp([4, 1, 3], call), ramp([2, 1], call + 1), ramp([], call + 2)],
    run: (x, y, z) => x!.add(y!).mul(z!),
  },
  {
    name: 'pointwise: a number and a 0-d tensor',
    inputs: (call) => [ramp([5], call), ramp([], call)],
    run: (x, s) => [x!.mul(2.5).add(1), x!.mul(s!), s!.add(1), s!.mul(s!)],
  },
  {
    name: 'pointwise: integers divide, remain and shift as PyTorch',
    inputs: (call) => [whole([12], 11, call).sub(5), whole([12], 4, call + 1).add(1)],
    run: (x, y) => [
      x!.div(y!, { roundingMode: 'floor' }),
      x!.div(y!, { roundingMode: 'trunc' }),
      remainder(x!, y!),
      bitwiseXor(x!, y!),
      x!.div(y!),
      x!.mul(y!),
    ],
  },
  ...(['float64', 'float16', 'bfloat16', 'int32', 'int16', 'int8', 'uint8'] as const).map(
    dtypeCase,
  ),
  {
    name: 'dtypes: mixed types are promoted',
    dtypes: ['int32'],
    inputs: (call) => [whole([4], 5, call, 'int32'), ramp([4], call), whole([4], 2, call, 'bool')],
    run: (i, f, b) => [i!.add(f!), i!.add(b!), f!.mul(b!), i!.mul(2.5), b!.add(b!)],
  },
];
