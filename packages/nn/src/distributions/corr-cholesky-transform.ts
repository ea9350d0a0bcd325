/**
 * @file `CorrCholeskyTransform`: vectors as Cholesky factors of correlation matrices.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  clamp,
  cumprod,
  cumsum,
  eye,
  log,
  log1p,
  scatter,
  softplus,
  square,
  tanh,
  tensor,
  expand,
} from '@tessera/tensor';
import { constantPad } from '@tessera/tensor/internal';
import { type Constraint, corrCholesky, realVector } from './constraints.js';
import { limitsOf } from './transforms-elementwise.js';
import { tooFew } from './transforms-composed.js';
import { Transform } from './transform.js';

/** How many rows a triangle of this many elements below the diagonal has. @throws shape-mismatch */
function rowsOf(count: number): number {
  const rows = Math.round(Math.sqrt(0.25 + 2 * count) + 0.5);
  if ((rows * (rows - 1)) / 2 !== count)
    throw new TesseraError('shape-mismatch', 'Input is not a flattened lower-diagonal number', {
      hints: ['A vector of n(n - 1)/2 numbers makes a matrix [n, n].'],
    });
  return rows;
}

/** Where the elements up to a diagonal are in a matrix [n, n] that is read row by row. */
function places(n: number, diagonal: number, like: Tensor): Tensor {
  const found: number[] = [];
  for (let i = 0; i < n; i++) for (let j = 0; j <= i + diagonal; j++) found.push(i * n + j);
  return tensor(found, { dtype: 'int64', device: like.device });
}

/** The elements below the diagonal in order of rows → [.., n, n]. */
function toTriangle(x: Tensor): Tensor {
  const n = rowsOf(x.sizes.at(-1)!);
  const lead = x.sizes.slice(0, -1);
  const index = expand(places(n, -1, x), x.sizes);
  return scatter(x.newZeros([...lead, n * n]), -1, index, x).view([...lead, n, n]);
}

/** [.., n, n] → the elements up to a diagonal, in order of rows. */
function fromTriangle(x: Tensor, diagonal: number): Tensor {
  const n = x.sizes.at(-1)!;
  const flat = x.reshape([...x.sizes.slice(0, -2), n * n]);
  return flat.indexSelect(-1, places(n, diagonal, x));
}

/** 1 before each row's elements, the last of which is left out. */
function shifted(x: Tensor): Tensor {
  return constantPad(x.narrow(-1, 0, x.sizes.at(-1)! - 1), [1, 0], 1);
}

/**
 * n(n - 1)/2 numbers as a lower triangle [n, n] whose rows have length 1: each takes a signed share of what is left.
 *
 * @see torch.distributions.transforms.CorrCholeskyTransform
 */
export class CorrCholeskyTransform extends Transform {
  readonly domain: Constraint = realVector;
  readonly codomain: Constraint = corrCholesky;

  protected forward(x: Tensor): Tensor {
    const [, epsilon] = limitsOf(x);
    const ratios = toTriangle(clamp(tanh(x), -1 + epsilon, 1 - epsilon));
    const left = cumprod(square(ratios).neg().add(1).sqrt(), -1);
    const { dtype, device } = x;
    return ratios.add(eye(ratios.sizes.at(-1)!, null, { dtype, device })).mul(shifted(left));
  }
  protected backward(y: Tensor): Tensor {
    const left = shifted(cumsum(square(y), -1).neg().add(1));
    const ratios = fromTriangle(y, -1).div(fromTriangle(left, -1).sqrt());
    return log1p(ratios).sub(log1p(ratios.neg())).mul(0.5);
  }
  /** Of the elements below the diagonal. */
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const left = cumsum(square(y), -1).neg().add(1);
    const sticks = log(fromTriangle(left, -2)).sum(-1).mul(0.5);
    const slopes = x
      .add(softplus(x.mul(-2)))
      .sub(Math.LN2)
      .sum(-1)
      .mul(-2);
    return sticks.add(slopes);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    if (shape.length < 1) throw tooFew();
    const n = rowsOf(shape.at(-1)!);
    return [...shape.slice(0, -1), n, n];
  }
  /** [..., n, n] → [..., n (n - 1) / 2]. @throws shape-mismatch unless it is square */
  override inverseShape(shape: readonly number[]): readonly number[] {
    if (shape.length < 2) throw tooFew();
    const n = shape.at(-1)!;
    if (shape.at(-2) !== n)
      throw new TesseraError('shape-mismatch', 'Input is not square', {
        hints: ['Pass a Cholesky factor of shape [..., n, n].'],
      });
    return [...shape.slice(0, -2), (n * (n - 1)) / 2];
  }
}
