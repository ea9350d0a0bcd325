/**
 * @file Numbers drawn by rejection, an element of the result for each of the parameters: gamma, Poisson, binomial.
 * Functions only; tensors are filled in place by fill.ts and distribution-fill.ts.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { sampleBinomial, samplePoisson } from '../../kernels/count-sampling.js';
import { readNumbers } from '../../kernels/elements.js';
import { gammaSlope, sampleGamma } from '../../kernels/gamma-sampling.js';
import { pointwise, pointwiseMeta } from '../../kernels/pointwise-kernel.js';
import { fillWith } from '../../kernels/random-kernel.js';
import { checkFloating, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { reserveOffsets } from '../../rng/generator.js';
import { NumberStream } from '../../rng/number-stream.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';
import { mul } from '../pointwise/arithmetic.js';
import { floatingMeta, zeroGradient } from './meta.js';

/** Least normal numbers: a gamma number that underflows would have the logarithm -∞. */
const TINY: Readonly<Record<string, number>> = {
  float16: 2 ** -14,
  float32: 2 ** -126,
  bfloat16: 2 ** -126,
  float64: 2 ** -1022,
};

const gammaOp: OpOverload<Tensor> = defineOp(
  'aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor',
  {
    tags: ['random'],
    meta: floatingMeta('_standard_gamma'),
    kernel: ({ self }, [out]) => {
      const stream = new NumberStream(reserveOffsets(1));
      const shapes = readNumbers(self);
      const least = TINY[out!.dtype]!;
      fillWith(out!, (i) => {
        const sample = sampleGamma(shapes[i]!, stream.of(i));
        return sample < least ? least : sample;
      });
    },
    saved: ['self', 'out'],
    vjp: ({ self }, { grad, out }) => ({
      self: () => mul(grad, callOp(gammaGradOp, [self, out])),
    }),
  },
);

const gammaGradOp: OpOverload<Tensor> = defineOp(
  'aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor',
  {
    ...restrictedTo(
      'floating',
      '_standard_gamma_grad',
      pointwise(gammaSlope, { name: '_standard_gamma_grad', operands: ['self', 'output'] }),
    ),
    // It has a derivative, which nobody has written down; PyTorch neither.
    tags: ['pointwise'],
  },
);

const poissonOp = defineOp('aten::poisson(Tensor self, Generator? generator=None) -> Tensor', {
  tags: ['random'],
  meta: floatingMeta('poisson'),
  kernel: ({ self }, [out]) => {
    const rates = readNumbers(self);
    if (rates.some((rate) => !(rate >= 0)))
      throw new TesseraError(
        'invalid-argument',
        'invalid Poisson rate, expected rate to be non-negative',
        { hints: ['Rates are finite and not negative.'] },
      );
    const stream = new NumberStream(reserveOffsets(1));
    fillWith(out!, (i) => samplePoisson(rates[i]!, stream.of(i)));
  },
  vjp: zeroGradient,
});

const binomialOp = defineOp(
  'aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor',
  {
    tags: ['random'],
    meta: (args) => {
      checkFloating('binomial', args.count);
      checkFloating('binomial', args.prob);
      return pointwiseMeta({ name: 'binomial', operands: ['count', 'prob'] })(args);
    },
    kernel: ({ count, prob }, [out]) => {
      const counts = readNumbers(count, out!.sizes);
      const shares = readNumbers(prob, out!.sizes);
      const stream = new NumberStream(reserveOffsets(1));
      fillWith(out!, (i) => {
        const [n, p] = [counts[i]!, shares[i]!];
        if (!(n >= 0 && p >= 0 && p <= 1)) return NaN;
        return sampleBinomial(Math.floor(n), p, stream.of(i));
      });
    },
    vjp: (_args, { grad }) => ({ count: () => zerosLike(grad), prob: () => zerosLike(grad) }),
  },
);

/**
 * Numbers of gamma distributions with scale 1 and the shapes in self. Differentiable in the shapes: samples move
 * as they would if their places in the distribution stayed.
 *
 * @throws dtype-unsupported
 * @see torch._standard_gamma
 */
export function standardGamma(self: Tensor): Tensor {
  return callOp(gammaOp, [self, null]);
}

/** Counts of events that happen as often as self says on average. @throws invalid-argument, dtype-unsupported */
export function poisson(self: Tensor): Tensor {
  return callOp(poissonOp, [self, null]);
}

/** How many of `count` trials succeed with probability `prob`; NaN where the parameters are no such. @throws dtype-unsupported, shape-mismatch */
export function binomial(count: Tensor, prob: Tensor): Tensor {
  return callOp(binomialOp, [count, prob, null]);
}
