/**
 * @file `weightNorm`: a weight as direction and length.
 */
import { type Tensor, norm } from '@tessera/tensor';
import { Module } from '../module/module.js';
import { registerParametrization } from './register-parametrization.js';
import { type OptionNames, checkOptionNames } from '@tessera/shared';

/** Norms over all dimensions but `dim`, which stay as dimensions of size 1. */
function normExcept(value: Tensor, dim: number | null): Tensor {
  if (dim === null) return norm(value);
  const at = dim < 0 ? dim + value.ndim : dim;
  const others = value.sizes.flatMap((_, d) => (d === at ? [] : [d]));
  return others.length === 0 ? value.abs() : norm(value, 2, others, { keepdim: true });
}

class WeightNorm extends Module {
  constructor(readonly dim: number | null) {
    super();
  }

  /** g · v / ‖v‖ */
  override forward(g: Tensor, v: Tensor): Tensor {
    return v.mul(g.div(normExcept(v, this.dim)));
  }

  rightInverse(weight: Tensor): [Tensor, Tensor] {
    return [normExcept(weight, this.dim), weight];
  }
}

/** Options of `weightNorm`. */
export interface WeightNormOptions {
  /** Name of the tensor (default `weight`). */
  readonly name?: string;
  /** Dimension that has a length for each of its elements (default 0); null for one length. */
  readonly dim?: number | null;
}

const WEIGHT_NORM: OptionNames<WeightNormOptions> = { name: true, dim: true };

/** Parametrizes a weight by its lengths, `original0`, and directions, `original1`. Checkpoints in which these are `weight_g` and `weight_v` load too. @throws invalid-argument @see torch.nn.utils.parametrizations.weight_norm @see https://arxiv.org/abs/1602.07868 */
export function weightNorm<M extends Module>(module: M, options: WeightNormOptions = {}): M {
  checkOptionNames('weightNorm', options, WEIGHT_NORM);
  const { name = 'weight', dim = 0 } = options;
  registerParametrization(module, name, new WeightNorm(dim), { unsafe: true });
  // As PyTorch's older `weight_norm` names them.
  module.registerLoadStateDictPreHook((_, state, prefix) => {
    const older = ['g', 'v'].map((part) => `${prefix}${name}_${part}`);
    if (!older.every((key) => key in state)) return;
    older.forEach((key, i) => {
      state[`${prefix}parametrizations.${name}.original${i}`] = state[key]!;
      delete state[key];
    });
  });
  return module;
}
