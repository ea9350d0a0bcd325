/**
 * @file `Adafactor`: second moments kept as a row and a column instead of a matrix.
 */
import { TesseraError } from '@tessera/shared';
import {
  type DType,
  type Tensor,
  clampMin,
  div,
  matmul,
  mean,
  norm,
  rsqrt,
  square,
  zerosLike,
} from '@tessera/tensor';
import { lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative, checkOption } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `Adafactor`. */
export interface AdafactorOptions extends CommonOptions {
  /** Power by which the weight of a new square falls with the steps (default -0.8). */
  beta2Decay: number;
  /** Least value of the squares, null for the epsilon of the dtype, and of the parameters' scale (default [null, 1e-3]). */
  eps: readonly [number | null, number];
  /** Largest root mean square of an update (default 1). */
  d: number;
  /** Decoupled weight decay (default 0). */
  weightDecay: number;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface AdafactorScalars {
  readonly weightDecay: number;
  /** 1 - lr · weightDecay */
  readonly shrink: number;
  /** Weight of the new squares. */
  readonly mix: number;
  readonly negRate: number;
  readonly leastScale: number;
  readonly d: number;
  /** Least square; not used if it is that of the dtype. */
  readonly least: number;
  readonly leastSquared: number;
}

const EPSILON: Partial<Record<DType, number>> = {
  float64: 2 ** -52,
  float32: 2 ** -23,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

function rootMeanSquare(tensor: Tensor): Tensor {
  return norm(tensor).div(Math.sqrt(tensor.numel));
}

/** Adafactor; state is smaller than the parameters. @see torch.optim.Adafactor @see Shazeer and Stern, https://arxiv.org/abs/1804.04235 */
export class Adafactor extends Optimizer<AdafactorOptions, AdafactorScalars> {
  /** @throws invalid-argument */
  constructor(
    params: OptimizerParams<AdafactorOptions>,
    options: OptionsInput<AdafactorOptions> = {},
  ) {
    const defaults = { lr: 1e-2, beta2Decay: -0.8, eps: [null, 1e-3] as const, d: 1 };
    super(params, { ...defaults, weightDecay: 0, maximize: false }, options);
  }

  protected override checkOptions(group: AdafactorOptions): void {
    checkNonNegative(group, 'lr', 'weightDecay');
    const { beta2Decay, eps, d } = group;
    checkOption(Array.isArray(eps) && eps.length === 2, 'eps', eps);
    const [least, scale] = eps;
    const rules: [ok: boolean, rule: string, value: unknown][] = [
      [beta2Decay <= 0, 'beta2Decay should be <= 0', beta2Decay],
      [least === null || least >= 0, 'epsilon1 should be >= 0', least],
      [scale >= 0, 'epsilon2 should be >= 0', scale],
      [d >= 1, 'Clipping threshold d should be >= 1', d],
    ];
    for (const [ok, rule, value] of rules)
      if (!ok)
        throw new TesseraError('invalid-argument', `${rule} but is: ${String(value)}`, {
          hints: ['Leave the option out for its default.'],
        });
  }

  protected override structure(group: AdafactorOptions): Structure {
    const weightDecay = group.weightDecay !== 0;
    const ownLeast = group.eps[0] !== null;
    return { weightDecay, decoupled: true, maximize: group.maximize, ownLeast };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    if (param.ndim < 2) return { variance: zerosLike(param) };
    return {
      row_var: param.newZeros([...param.sizes.slice(0, -1), 1]),
      col_var: param.newZeros([...param.sizes.slice(0, -2), 1, param.size(-1)]),
    };
  }

  protected override scalars(group: AdafactorOptions, step: number): AdafactorScalars {
    const least = group.eps[0] ?? 0;
    return {
      weightDecay: group.weightDecay,
      shrink: 1 - group.lr * group.weightDecay,
      mix: step ** group.beta2Decay,
      negRate: -Math.min(group.lr, 1 / Math.sqrt(step)),
      leastScale: group.eps[1],
      d: group.d,
      least,
      leastSquared: least * least,
    };
  }

  protected override update(
    bucket: Bucket<AdafactorOptions>,
    scalars: Lifted<AdafactorScalars>,
  ): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const epsilon = EPSILON[param.dtype]!;
      const [least, leastSquared] = structure.ownLeast
        ? [scalars.least, scalars.leastSquared]
        : [epsilon, epsilon * epsilon];
      const scale = clampMin(rootMeanSquare(param), scalars.leastScale).mul(scalars.negRate);
      const grad = stepGradient(param, structure, scalars);
      let squares: Tensor;
      if (param.ndim < 2) {
        squares = lerp_(state.variance![i]!, square(grad), scalars.mix);
      } else {
        const meanSquare = (dim: number): Tensor =>
          square(norm(grad, 2, dim, { keepdim: true })).div(grad.size(dim));
        const rows = lerp_(state.row_var![i]!, meanSquare(-1), scalars.mix);
        const columns = lerp_(state.col_var![i]!, meanSquare(-2), scalars.mix);
        const total = clampMin(mean(rows, -2, { keepdim: true }), least);
        squares = div(matmul(rows, columns), total);
      }
      const direction = rsqrt(clampMin(squares, leastSquared)).mul(grad);
      const length = clampMin(rootMeanSquare(direction).div(scalars.d), 1);
      param.add_(direction.mul(scale.div(length)));
    });
  }
}

trustUpdate(Adafactor);
