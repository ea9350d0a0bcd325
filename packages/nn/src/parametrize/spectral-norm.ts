/**
 * @file `spectralNorm`: a weight divided by its largest singular value.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, dot, movedim, mv, noGrad, randn } from '@tessera/tensor';
import { normalize } from '../functional/normalize.js';
import { fieldsOf } from '../module/module-tree.js';
import { Module } from '../module/module.js';
import { ConvTranspose1d, ConvTranspose2d, ConvTranspose3d } from '../modules/conv-transpose.js';
import { registerParametrization } from './register-parametrization.js';
import { checkModule } from '../module/check-child.js';

/** Options of `spectralNorm`. */
export interface SpectralNormOptions {
  /** Name of the tensor (default `weight`). */
  readonly name?: string;
  /** Power iterations per forward in training (default 1). */
  readonly nPowerIterations?: number;
  /** Least norm that is divided by (default 1e-12). */
  readonly eps?: number;
  /** Dimension that counts outputs (default 0; 1 for transposed convolutions). */
  readonly dim?: number | null;
}

const SPECTRAL_NORM: OptionNames<SpectralNormOptions> = {
  name: true,
  nPowerIterations: true,
  eps: true,
  dim: true,
};

class SpectralNorm extends Module {
  declare _u: Tensor;
  declare _v: Tensor;

  constructor(
    weight: Tensor,
    readonly nPowerIterations: number,
    readonly dim: number,
    readonly eps: number,
  ) {
    super();
    if (weight.ndim < 2) return;
    const matrix = noGrad(() => this.matrixOf(weight.detach()));
    const draw = (size: number): Tensor =>
      this.unit(randn([size], { dtype: weight.dtype, device: weight.device }));
    this.registerBuffer('_u', draw(matrix.size(0)));
    this.registerBuffer('_v', draw(matrix.size(1)));
    this.iterate(matrix, 15);
  }

  private unit(vector: Tensor): Tensor {
    return normalize(vector, { dim: 0, eps: this.eps });
  }

  /** [out, everything else] */
  private matrixOf(weight: Tensor): Tensor {
    return movedim(weight, this.dim, 0).reshape([weight.size(this.dim), -1]);
  }

  private iterate(matrix: Tensor, count: number): void {
    noGrad(() => {
      for (let i = 0; i < count; i++) {
        this._u.copy_(this.unit(mv(matrix, this._v)));
        this._v.copy_(this.unit(mv(matrix.t(), this._u)));
      }
    });
  }

  override forward(weight: Tensor): Tensor {
    if (weight.ndim < 2) return this.unit(weight);
    const matrix = this.matrixOf(weight);
    if (this.training) this.iterate(matrix.detach(), this.nPowerIterations);
    // Later iterations write into the buffers.
    const sigma = dot(this._u.clone(), mv(matrix, this._v.clone()));
    return weight.div(sigma);
  }

  rightInverse(value: Tensor): Tensor {
    return value;
  }
}

/** Divides a weight by its largest singular value, found by power iteration. @throws invalid-argument @see torch.nn.utils.parametrizations.spectral_norm @see https://arxiv.org/abs/1802.05957 */
export function spectralNorm<M extends Module>(module: M, options: SpectralNormOptions = {}): M {
  checkOptionNames('spectralNorm', options, SPECTRAL_NORM);
  checkModule('spectralNorm', module);
  const { name = 'weight', nPowerIterations = 1, eps = 1e-12 } = options;
  if (!(nPowerIterations > 0))
    throw new TesseraError(
      'invalid-argument',
      `Expected n_power_iterations to be positive, but got n_power_iterations=${nPowerIterations}`,
      { hints: ['Leave nPowerIterations out for 1.'] },
    );
  const transposed = [ConvTranspose1d, ConvTranspose2d, ConvTranspose3d].some(
    (type) => module instanceof type,
  );
  const dim = options.dim ?? (transposed ? 1 : 0);
  const weight = fieldsOf(module)[name] as Tensor;
  return registerParametrization(
    module,
    name,
    new SpectralNorm(weight, nPowerIterations, dim, eps),
  );
}
