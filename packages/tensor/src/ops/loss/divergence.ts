/**
 * @file Losses between distributions: Kullback-Leibler divergence, Poisson likelihood.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { le } from '../pointwise/comparison.js';
import { exp, log } from '../pointwise/exponential.js';
import { maskedFill } from '../pointwise/fill.js';
import { xlogy } from '../pointwise/log-domain.js';
import { type LossOptions, reduced, reductionOf } from './reduce.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';

const divergenceOp = defineOp(
  'aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor',
  {
    decompose: ({ self: x, target: y, reduction, log_target }) => {
      for (const t of [x, y]) checkFloating('kl_div', t);
      return reduced(
        log_target === true ? mul(exp(y), sub(y, x)) : sub(xlogy(y, y), mul(y, x)),
        reduction,
      );
    },
  },
);

/** log(x!) for large x. */
function stirling(x: Tensor): Tensor {
  return add(sub(mul(x, log(x)), x), mul(log(mul(x, 2 * Math.PI)), 0.5));
}

const poissonOp = defineOp(
  'aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor',
  {
    decompose: ({ input: x, target: y, log_input, full, eps, reduction }) => {
      let loss = log_input === true ? sub(exp(x), mul(y, x)) : sub(x, mul(y, log(add(x, eps))));
      if (full === true) loss = add(loss, maskedFill(stirling(y), le(y, 1), 0));
      return reduced(loss, reduction);
    },
  },
);

/** Parameters of `klDiv`. */
export interface KlDivOptions extends LossOptions {
  /** Whether the target holds logarithms too. */
  readonly logTarget?: boolean;
}
const KL_DIV: OptionNames<KlDivOptions> = { logTarget: true, reduction: true };

/** target (log target - input), the input being log-probabilities. @throws shape-mismatch */
export function klDiv(input: Tensor, target: Tensor, options: KlDivOptions = {}): Tensor {
  checkOptionNames('klDiv', options, KL_DIV);
  return callOp(divergenceOp, [input, target, reductionOf(options), options.logTarget ?? false]);
}

/** Parameters of `poissonNllLoss`. */
export interface PoissonNllLossOptions extends LossOptions {
  /** Whether the input is the logarithm of the rate (default true). */
  readonly logInput?: boolean;
  /** Whether to add the term of the target alone, by Stirling's formula. */
  readonly full?: boolean;
  /** Keeps the logarithm of a rate away from 0 (default 1e-8). */
  readonly eps?: number;
}
const POISSON_NLL_LOSS: OptionNames<PoissonNllLossOptions> = {
  logInput: true,
  full: true,
  eps: true,
  reduction: true,
};

/** Negative log likelihood of counts under a Poisson distribution. @throws shape-mismatch */
export function poissonNllLoss(
  input: Tensor,
  target: Tensor,
  options: PoissonNllLossOptions = {},
): Tensor {
  checkOptionNames('poissonNllLoss', options, POISSON_NLL_LOSS);
  const { logInput = true, full = false, eps = 1e-8 } = options;
  return callOp(poissonOp, [input, target, logInput, full, eps, reductionOf(options)]);
}
