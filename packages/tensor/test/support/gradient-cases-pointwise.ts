/**
 * @file Functions of elements whose derivatives are checked against finite differences.
 */
import { type Tensor, callOp, fromTypedArray, getOp, polygamma } from '../../src/index.js';
import { i0e, i1, i1e } from '../../src/special.js';
import type { Differentiable } from './gradient-check.js';

/** Six distinct values within (low, high), not at its kinks. */
function between(low: number, high: number): Tensor {
  return fromTypedArray(
    Float64Array.from({ length: 6 }, (_, i) => low + ((high - low) * ((i * 5 + 1.37) % 6.4)) / 6.4),
    [2, 3],
  );
}

const real = between(-2.3, 2.6);

/** Functions of one tensor by the interval on which they are checked. */
const unaries: readonly [low: number, high: number, names: readonly string[]][] = [
  [-0.9, 0.9, ['acos', 'asin', 'atanh', 'erfinv']],
  [1.1, 4, ['acosh']],
  [0.05, 0.95, ['logit']],
  [
    -2.3,
    2.6,
    [
      ...['asinh', 'sinh', 'cosh', 'sinc', 'deg2rad', 'rad2deg', 'frac', 'sgn', 'angle'],
      ...['i0', 'nanToNum', 'logSigmoid', 'celu'],
      ...['softshrink', 'hardshrink', 'selu', 'elu', 'silu', 'mish', 'softplus', 'leakyRelu'],
    ],
  ],
  [-1.9, 3, ['lgamma', 'digamma']],
];

const backward = (name: string, ...rest: unknown[]): [string, Differentiable, Tensor[]] => [
  `${name}_backward`,
  (grad, x) => callOp(getOp(`aten::${name}_backward`), [grad, x, ...rest]) as Tensor,
  [real.flip([0, 1]), real],
];

/** Name, function, inputs. */
export const pointwiseCases: [name: string, fn: Differentiable, inputs: Tensor[]][] = [
  ['special i1', (x) => i1(x!), [real]],
  ['special i0e', (x) => i0e(x!), [real]],
  ['special i1e', (x) => i1e(x!), [real]],
  ...unaries.flatMap(([low, high, names]) =>
    names.map((name): [string, Differentiable, Tensor[]] => [
      name,
      (x) => (x as unknown as Record<string, () => Tensor>)[name]!(),
      [between(low, high)],
    ]),
  ),
  ['polygamma', (x) => [polygamma(1, x!), polygamma(2, x!)], [between(0.3, 3)]],
  ['logit with limits', (x) => x!.logit({ eps: 0.2 }), [between(0.05, 0.95)]],
  ['celu with alpha', (x) => x!.celu({ alpha: 0.7 }), [real]],
  ['threshold', (x) => x!.mul(x!).threshold(0.5, 2), [real]],
  ['atan2', (a, b) => a!.atan2(b!), [real, real.flip([0, 1])]],
  ['hypot', (a, b) => a!.hypot(b!), [real, real.flip([0, 1])]],
  ['copysign', (a, b) => a!.copysign(b!), [real, real.flip([0, 1])]],
  ['fmax and fmin', (a, b) => a!.fmax(b!).add(a!.fmin(b!).mul(2)), [real, real.flip([0, 1])]],
  ['ldexp', (a, b) => a!.ldexp(b!), [real, real.flip([0, 1])]],
  ['logaddexp', (a, b) => a!.logaddexp(b!), [real, real.flip([0, 1])]],
  ['logaddexp2', (a, b) => a!.logaddexp2(b!), [real, real.flip([0, 1])]],
  ['xlogy', (a, b) => a!.xlogy(b!), [real, between(0.2, 3)]],
  ['xlogy of a number', (a) => a!.xlogy(3), [real]],
  ['frexp', (a) => a!.frexp()[0], [real]],
  ['trueDivide', (a, b) => a!.trueDivide(b!), [real, between(0.2, 3)]],
  ['glu', (a) => [a!.glu(0), a!.mul(a!).transpose(0, 1).glu(1)], [real]],
  ['prelu', (a, w) => a!.prelu(w!), [real, between(0.1, 0.5).select(0, 0)]],
  backward('silu'),
  backward('mish'),
  backward('hardswish'),
  backward('hardsigmoid'),
  backward('hardtanh', -1, 1),
  backward('leaky_relu', 0.1, false),
  backward('threshold', 0.5),
  backward('softplus', 1.5, 20),
  backward('softshrink', 0.5),
  [
    'elu_backward',
    (grad, x) => callOp(getOp('aten::elu_backward'), [grad, 1.2, 0.9, 1.1, false, x]) as Tensor,
    [real.flip([0, 1]), real],
  ],
  [
    'elu_backward of a result',
    (grad, y) => callOp(getOp('aten::elu_backward'), [grad, 1.2, 0.9, 1.1, true, y]) as Tensor,
    [real.flip([0, 1]), real],
  ],
  [
    'glu_backward',
    (grad, x) => callOp(getOp('aten::glu_backward'), [grad, x, 0]) as Tensor,
    [real.select(0, 1).unsqueeze(0), real],
  ],
];
