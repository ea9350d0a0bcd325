/**
 * @file The regularized incomplete gamma functions: reference kernels on the CPU, programs of their own on WebGPU
 * (`useDistributions`); derivatives in the second argument, as in PyTorch.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { lowerGamma, upperGamma } from '../../kernels/incomplete-gamma.js';
import { pointwise } from '../../kernels/pointwise-kernel.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { mul, neg, sub } from '../pointwise/arithmetic.js';
import { exp } from '../pointwise/exponential.js';
import { xlogy } from '../pointwise/log-domain.js';
import { lgamma } from '../pointwise/special.js';

function define(
  name: 'igamma' | 'igammac',
  fn: (a: number, x: number) => number,
  towards: (grad: Tensor) => Tensor,
): OpOverload<Tensor> {
  return defineOp(
    `aten::${name}(Tensor self, Tensor other) -> Tensor`,
    restrictedTo(
      'floating',
      name,
      pointwise(fn, {
        name,
        saved: ['self', 'other'],
        vjp: ({ self, other }, { grad }) => ({
          self: () => {
            throw new TesseraError(
              'derivative-missing',
              `the derivative for '${name}: input' is not implemented.`,
              { hints: ['Detach the first argument; the second has a derivative.'] },
            );
          },
          other: () => {
            const log = sub(sub(xlogy(sub(self, 1), other), other), lgamma(self));
            return mul(towards(grad), exp(log));
          },
        }),
      }),
    ),
  );
}

const igammaOp = define('igamma', lowerGamma, (grad) => grad);
const igammacOp = define('igammac', upperGamma, neg);

/**
 * The lower one, γ(self, other) / Γ(self): the distribution function at `other` of a gamma variable.
 *
 * @throws shape-mismatch, dtype-unsupported
 * @see torch.special.gammainc
 */
export function gammainc(self: Tensor, other: Tensor): Tensor {
  return callOp(igammaOp, [self, other]);
}

/**
 * The upper one, 1 - gammainc(self, other) without its cancellation.
 *
 * @throws shape-mismatch, dtype-unsupported
 * @see torch.special.gammaincc
 */
export function gammaincc(self: Tensor, other: Tensor): Tensor {
  return callOp(igammacOp, [self, other]);
}
