/**
 * @file `orthogonal`: a weight with orthonormal columns, or rows if these are fewer.
 *
 * The weight is computed from a free matrix of its shape by a map whose results are orthogonal: the exponential or
 * the Cayley transform of a skew-symmetric matrix, or a product of reflections. With a trivialization the map starts
 * at the identity and a constant, `base`, says where the weight started. Modelled on
 * `torch.nn.utils.parametrizations.orthogonal`.
 *
 * @see Lezcano-Casado, Trivializations for Gradient-Based Optimization on Manifolds, 2019
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, cat, eye, isTensor, noGrad, randn, where, zerosLike } from '@tessera/tensor';
import { formatSizes, sameNumbers } from '@tessera/tensor/internal';
import { geqrf, householderProduct, matrixExp, qr, solve } from '@tessera/tensor/linalg';
import { fieldsOf } from '../module/module-tree.js';
import { Module } from '../module/module.js';
import { registerParametrization } from './register-parametrization.js';
import { checkModule } from '../module/check-child.js';

/** How an orthogonal matrix is made of a free one. */
export type OrthogonalMap = 'matrix_exp' | 'cayley' | 'householder';
const MAPS: readonly OrthogonalMap[] = ['matrix_exp', 'cayley', 'householder'];

/** Options of `orthogonal`. */
export interface OrthogonalOptions {
  /** Name of the tensor (default `weight`). */
  readonly name?: string;
  /** The map; by default 'matrix_exp' for square matrices and 'householder' for others. */
  readonly orthogonalMap?: OrthogonalMap | null;
  /** Whether the map starts at the identity, times a constant `base` (default true). Without, only 'householder' can be assigned. */
  readonly useTrivialization?: boolean;
}
const OPTIONS: OptionNames<OrthogonalOptions> = {
  name: true,
  orthogonalMap: true,
  useTrivialization: true,
};

/** x with at least as many rows as columns; whether that took a transposition. */
function tall(x: Tensor): { readonly matrix: Tensor; readonly turned: boolean } {
  const turned = x.sizes.at(-2)! < x.sizes.at(-1)!;
  return { matrix: turned ? x.mT : x, turned };
}

/** [.., N, K] → [.., N, N] with zeros in the columns that are missing. */
function square(x: Tensor): Tensor {
  const [n, k] = x.sizes.slice(-2);
  return n === k ? x : cat([x, x.newZeros([...x.sizes.slice(0, -1), n - k])], -1);
}

/** The factor Q of x = Q R with a positive diagonal of R. */
function orthonormalized(x: Tensor): Tensor {
  const [q, r] = qr(x);
  return q.mul(r.diagonal(0, -2, -1).sign().unsqueeze(-2));
}

function isOrthogonal(x: Tensor): boolean {
  const n = x.sizes.at(-1)!;
  const one = eye(n, n, { dtype: x.dtype, device: x.device }).expand([...x.sizes]);
  const epsilon = x.dtype === 'float64' ? 2 ** -52 : 2 ** -23;
  return x.mT.matmul(x).allclose(one, { atol: 10 * n * epsilon });
}

/** Computes the weight; `Assignable` also knows the way back. */
class Orthogonal extends Module {
  declare base?: Tensor;

  constructor(readonly orthogonalMap: OrthogonalMap) {
    super();
  }

  override forward(x: Tensor): Tensor {
    const { matrix, turned } = tall(x);
    const made =
      this.orthogonalMap === 'householder' ? reflections(matrix) : this.ofSkew(matrix.tril());
    const q = this.base === undefined ? made : this.base.matmul(made);
    return turned ? q.mT : q;
  }

  /** exp(A), or (1 + A/2) (1 - A/2)⁻¹, of A = X - Xᵀ; as many columns as X has. */
  private ofSkew(lower: Tensor): Tensor {
    const x = square(lower);
    const a = x.sub(x.mT);
    const n = a.sizes.at(-1)!;
    const one = eye(n, n, { dtype: a.dtype, device: a.device });
    const q =
      this.orthogonalMap === 'matrix_exp'
        ? matrixExp(a)
        : solve(one.sub(a, { alpha: 0.5 }), one.add(a, { alpha: 0.5 }));
    return q.narrow(-1, 0, lower.sizes.at(-1)!);
  }

  override extraRepr(): string {
    return this.orthogonalMap;
  }
}

/** The product of the reflections whose vectors are below the diagonal; what is on it, ±1, is a sign for each column. */
function reflections(x: Tensor): Tensor {
  const vectors = x.tril(-1);
  const tau = vectors.square().sum(-2).add(1).reciprocal().mul(2);
  // Signs are no parameters: no gradient flows through integers.
  const signs = x.diagonal(0, -2, -1).to('int32').unsqueeze(-2);
  return householderProduct(vectors, tau).mul(signs);
}

class Assignable extends Orthogonal {
  constructor(
    map: OrthogonalMap,
    readonly shape: readonly number[],
    readonly useTrivialization: boolean,
  ) {
    super(map);
  }

  /** The matrix from which `value` is computed, made orthogonal first if it is not. @throws shape-mismatch */
  rightInverse(value: Tensor): Tensor {
    if (!sameNumbers(value.sizes, this.shape))
      throw new TesseraError(
        'shape-mismatch',
        `Expected a matrix or batch of matrices of shape ${formatSizes(this.shape)}. Got a tensor of shape ${formatSizes(value.sizes)}.`,
        { hints: ['Assign a tensor of the shape of the weight.'] },
      );
    return noGrad(() =>
      this.useTrivialization ? this.startAt(value.detach()) : factored(value.detach()),
    );
  }

  /** Makes `base` of the value, completed to a square matrix by random columns; the map starts at the identity. */
  private startAt(value: Tensor): Tensor {
    const { matrix } = tall(value);
    const [n, k] = matrix.sizes.slice(-2);
    let base: Tensor;
    if (n === k) base = isOrthogonal(matrix) ? matrix.clone() : orthonormalized(matrix);
    else {
      const { dtype, device } = value;
      const others = randn([...matrix.sizes.slice(0, -1), n - k], { dtype, device });
      base = orthonormalized(cat([matrix, others], -1));
    }
    if (this.base === undefined) this.registerBuffer('base', base);
    else this.base.copy_(base);
    // Of this matrix the reflections are the identity, and it is symmetric, which the other maps make 0 of.
    const start = zerosLike(value);
    start.diagonal(0, -2, -1).fill_(-1);
    return start;
  }
}

/** Vectors of the reflections of the value's QR decomposition, with signs that make R's diagonal positive. */
function factored(value: Tensor): Tensor {
  const { matrix, turned } = tall(value);
  const [a, tau] = geqrf(matrix);
  const diagonal = a.diagonal(0, -2, -1);
  const signs = diagonal.sign();
  // Where LAPACK makes no reflection this map makes one, which changes the sign.
  diagonal.copy_(where(tau.ne(0), signs, signs.neg()));
  return turned ? a.mT : a;
}

/**
 * Makes a weight [.., N, K] orthogonal: its columns are orthonormal, or its rows if N < K, after every step of an
 * optimizer. The exponential and the Cayley transform are computed on the CPU, as the decomposition that a module
 * starts with is; on WebGPU there is 'householder', for modules that are moved there afterwards.
 *
 * @returns the module
 * @throws invalid-argument, shape-mismatch, dtype-unsupported
 * @example orthogonal(new Linear(20, 40)).weight // [40, 20], and weight.t().matmul(weight) is the identity
 * @see torch.nn.utils.parametrizations.orthogonal
 */
export function orthogonal<M extends Module>(module: M, options: OrthogonalOptions = {}): M {
  checkOptionNames('orthogonal', options, OPTIONS);
  checkModule('orthogonal', module);
  const { name = 'weight', useTrivialization = true } = options;
  const weight = fieldsOf(module)[name];
  if (!isTensor(weight))
    throw new TesseraError(
      'invalid-argument',
      `Module ${module.constructor.name} has no parameter or buffer with name '${name}'.`,
      { hints: ['Name a tensor of the module: orthogonal(module, { name }).'] },
    );
  if (weight.ndim < 2)
    throw new TesseraError(
      'shape-mismatch',
      `Expected a matrix or batch of matrices. Got a tensor of ${weight.ndim} dimensions.`,
      { hints: ['Vectors have lengths, not columns: use weightNorm.'] },
    );
  if (weight.dtype !== 'float32' && weight.dtype !== 'float64')
    throw new TesseraError('dtype-unsupported', `orthogonal: Unsupported dtype ${weight.dtype}`, {
      hints: [
        'Decompositions are of float32 and float64; there are no complex tensors, so no unitary weights either.',
      ],
    });
  const isSquare = weight.sizes.at(-1) === weight.sizes.at(-2);
  const map = options.orthogonalMap ?? (isSquare ? 'matrix_exp' : 'householder');
  if (!MAPS.includes(map))
    throw new TesseraError(
      'invalid-argument',
      `orthogonalMap has to be one of "matrix_exp", "cayley", "householder". Got: ${String(map)}`,
      { hints: ["Leave it out: 'matrix_exp' for square matrices, else 'householder'."] },
    );
  const parametrization =
    useTrivialization || map === 'householder'
      ? new Assignable(map, weight.sizes, useTrivialization)
      : new Orthogonal(map);
  return registerParametrization(module, name, parametrization, { unsafe: true });
}
