/**
 * @file `Muon`: momentum whose matrix is made orthogonal before it is applied.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, addmm, clampMin, div, lerp, mm, norm, zerosLike } from '@tessera/tensor';
import { formatSizes, gradientOf, lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative, checkOption } from './option-checks.js';
import type {
  CommonOptions,
  OptimizerParams,
  ParamGroupInput,
  OptionsInput,
} from './param-group.js';

/** Options of `Muon`. */
export interface MuonOptions extends CommonOptions {
  /** Decoupled weight decay (default 0.1). */
  weightDecay: number;
  /** Weight of the last momentum in the next (default 0.95). */
  momentum: number;
  /** Whether the update looks ahead (default true). */
  nesterov: boolean;
  /** Coefficients of x, x³ and x⁵ in an iteration (default [3.4445, -4.775, 2.0315]). */
  nsCoefficients: readonly [number, number, number];
  /** Least norm that a momentum is divided by (default 1e-7). */
  eps: number;
  /** Newton–Schulz iterations (default 5). */
  nsSteps: number;
  /**
   * How the rate depends on the shape: `original` multiplies it by √max(1, rows / columns), `matchRmsAdamw` by
   * 0.2 · √max(rows, columns), so that rates tuned for AdamW fit (default `original`, as
   * null).
   */
  adjustLrFn: 'original' | 'matchRmsAdamw' | null;
}

/** Numbers of one step. */
export interface MuonScalars {
  readonly negLr: number;
  /** 1 - lr · weightDecay */
  readonly shrink: number;
  readonly momentum: number;
  /** 1 - momentum */
  readonly mix: number;
}

/**
 * The orthogonal factor of a matrix, about: its singular values move to near 1. In bfloat16, which is enough.
 *
 * @see Jordan et al., https://kellerjordan.github.io/posts/muon/
 */
function orthogonalized(matrix: Tensor, group: MuonOptions): Tensor {
  const [a, b, c] = group.nsCoefficients;
  const tall = matrix.size(0) > matrix.size(1);
  const start = matrix.to('bfloat16');
  let x = tall ? start.t() : start;
  x = div(x, clampMin(norm(x), group.eps));
  for (let i = 0; i < group.nsSteps; i++) {
    const gram = mm(x, x.t());
    const polynomial = addmm(gram, gram, gram, { beta: b, alpha: c });
    x = addmm(x, polynomial, x, { beta: a });
  }
  return tall ? x.t() : x;
}

function rateFactor({ adjustLrFn }: MuonOptions, [rows, columns]: readonly number[]): number {
  return adjustLrFn === 'matchRmsAdamw'
    ? 0.2 * Math.sqrt(Math.max(rows!, columns!))
    : Math.sqrt(Math.max(1, rows! / columns!));
}

/** Muon, for the weight matrices of hidden layers; give biases, embeddings and heads to AdamW. @see torch.optim.Muon */
export class Muon extends Optimizer<MuonOptions, MuonScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<MuonOptions>, options: OptionsInput<MuonOptions> = {}) {
    super(
      params,
      {
        lr: 1e-3,
        weightDecay: 0.1,
        momentum: 0.95,
        nesterov: true,
        nsCoefficients: [3.4445, -4.775, 2.0315],
        eps: 1e-7,
        nsSteps: 5,
        adjustLrFn: 'original',
      },
      options,
    );
  }

  /** @throws invalid-argument for a parameter that is no matrix */
  override addParamGroup(input: ParamGroupInput<MuonOptions>): void {
    super.addParamGroup(input);
    const odd = this.paramGroups.at(-1)!.params.find(({ ndim }) => ndim !== 2);
    if (odd === undefined) return;
    this.paramGroups.pop();
    throw new TesseraError(
      'invalid-argument',
      `Muon only supports 2D parameters whereas we found a parameter with size: ${formatSizes(odd.sizes)}`,
      { hints: ['Give biases, embeddings and convolution weights to another optimizer.'] },
    );
  }

  protected override checkOptions(group: MuonOptions): void {
    checkNonNegative(group, 'lr', 'momentum', 'weightDecay');
    if (![null, 'original', 'matchRmsAdamw'].includes(group.adjustLrFn))
      throw new TesseraError(
        'invalid-argument',
        `Adjust learning rate function ${String(group.adjustLrFn)} is not supported`,
        { hints: ["It is 'original', 'matchRmsAdamw' or null."] },
      );
    checkOption(Number.isInteger(group.nsSteps) && group.nsSteps < 100, 'nsSteps', group.nsSteps);
    checkOption(group.nsCoefficients?.length === 3, 'nsCoefficients', group.nsCoefficients);
  }

  protected override structure(group: MuonOptions): Structure {
    const { nesterov, adjustLrFn, nsCoefficients, eps, nsSteps } = group;
    const iteration = [...nsCoefficients, eps, nsSteps].join();
    return { nesterov, matchRmsAdamw: adjustLrFn === 'matchRmsAdamw', iteration };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    return { momentum_buffer: zerosLike(param) };
  }

  protected override scalars(group: MuonOptions): MuonScalars {
    return {
      negLr: -group.lr,
      shrink: 1 - group.lr * group.weightDecay,
      momentum: group.momentum,
      mix: 1 - group.momentum,
    };
  }

  protected override update(bucket: Bucket<MuonOptions>, scalars: Lifted<MuonScalars>): void {
    const { params, state, structure, _group: group } = bucket;
    params.forEach((param, i) => {
      const grad = gradientOf(param)!;
      const buffer = lerp_(state.momentum_buffer![i]!, grad, scalars.mix);
      const step = structure.nesterov ? lerp(grad, buffer, scalars.momentum) : buffer;
      const direction = orthogonalized(step, group).to(param.dtype);
      param.mul_(scalars.shrink);
      param.add_(direction.mul(rateFactor(group, param.sizes)), { alpha: scalars.negLr });
    });
  }
}

trustUpdate(Muon);
