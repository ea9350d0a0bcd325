/**
 * @file Cross products of 3-vectors, covariance and correlation.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint, isIntegral } from '../../dtype.js';
import { readNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { div } from '../pointwise/division.js';
import { clamp, clampMin } from '../pointwise/extremum.js';
import { scalarTensor } from '../factory/factory.js';
import { diag } from '../view/diagonal.js';
import { linalgCrossOp, refuseVectors } from './cross-op.js';
import { mm } from './matmul.js';
import { mul, sub } from '../pointwise/arithmetic.js';
import { sqrt } from '../pointwise/exponential.js';
import { sum } from '../reduction/reduction.js';
import { squeeze, t, unsqueeze } from '../view/dims.js';
import { view } from '../view/view.js';

const crossOp = defineOp('aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor', {
  decompose: ({ self, other, dim }) => {
    const first = self.sizes.indexOf(3);
    if (dim === null && first < 0)
      refuseVectors(`no dimension of size 3 in input ${formatSizes(self.sizes)}`);
    return callOp(linalgCrossOp, [self, other, dim ?? first]);
  },
});

/** Values that can be read now; a fake tensor and another device have none. */
function valuesAtHand(tensor: Tensor): Float64Array | null {
  const isReadable = tensor.storageOrNull?.state === 'real' && tensor.device === 'cpu';
  return isReadable ? readNumbers(tensor) : null;
}

/** @throws invalid-argument */
function refuseWeights(what: string): never {
  throw new TesseraError('invalid-argument', `cov(): ${what}`, {
    hints: ['Weights are finite and not negative.'],
  });
}

/** Checks observation weights; their values only where they are at hand. @throws invalid-argument */
function checkWeights(name: string, weights: Tensor | null, count: number): void {
  if (weights === null) return;
  if (weights.ndim > 1)
    refuseWeights(
      `expected ${name} to have one or fewer dimensions but got ${weights.ndim} dimensions`,
    );
  const right = name === 'fweights' ? isIntegral(weights.dtype) : isFloatingPoint(weights.dtype);
  if (!right)
    refuseWeights(
      `expected ${name} to have ${name === 'fweights' ? 'integral' : 'floating point'} dtype but got ${weights.dtype}`,
    );
  if (weights.numel !== count)
    refuseWeights(
      `expected ${name} to have the same numel as there are observations in the input but got ${weights.numel} != ${count}`,
    );
  if (valuesAtHand(weights)?.some((weight) => !(weight >= 0)))
    refuseWeights(`${name} cannot be negative`);
}

const covOp = defineOp(
  'aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor',
  {
    decompose: ({ self, correction, fweights: frequencies, aweights: importance }) => {
      if (self.ndim > 2 || self.dtype === 'bool')
        throw new TesseraError(
          'invalid-argument',
          self.ndim > 2
            ? `cov(): the input has ${self.ndim} dimensions, not at most two`
            : 'cov(): bool dtype is not supported for input',
          { hints: ['Variables are rows.'] },
        );
      const data = self.ndim < 2 ? view(self, [1, -1]) : self;
      const count = data.sizes[1]!;
      checkWeights('fweights', frequencies, count);
      checkWeights('aweights', importance, count);
      const weights =
        frequencies !== null && importance !== null
          ? mul(frequencies, importance)
          : (frequencies ?? importance);
      if (weights !== null && valuesAtHand(weights)?.reduce((a, b) => a + b, 0) === 0)
        refuseWeights("weights sum to zero, can't be normalized");
      const weighted = (x: Tensor): Tensor => (weights === null ? x : mul(x, weights));
      const total =
        weights === null
          ? scalarTensor(count, { dtype: 'int64', device: data.device })
          : sum(weights);
      const mean = div(sum(weighted(data), 1), total);
      const lost =
        weights !== null && importance !== null && correction !== 0
          ? div(mul(sum(mul(weights, importance)), correction), total)
          : correction;
      const centered = sub(data, unsqueeze(mean, 1));
      const products = mm(centered, t(weighted(centered)));
      return squeeze(div(products, clampMin(sub(total, lost), 0)));
    },
  },
);

const corrcoefOp = defineOp('aten::corrcoef(Tensor self) -> Tensor', {
  decompose: ({ self }) => {
    if (self.ndim > 2)
      throw new TesseraError(
        'invalid-argument',
        `corrcoef(): the input has ${self.ndim} dimensions, not at most two`,
        { hints: ['Variables are rows.'] },
      );
    const covariance = cov(self);
    // A single variable correlates with itself by 1, or NaN if it is constant.
    if (covariance.ndim === 0) return div(covariance, covariance);
    const deviation = sqrt(diag(covariance));
    const scaled = div(div(covariance, view(deviation, [-1, 1])), view(deviation, [1, -1]));
    return clamp(scaled, -1, 1);
  },
});

/** Cross products of vectors along a dimension; the first of size 3 by default. @throws shape-mismatch */
export function cross(self: Tensor, other: Tensor, dim: number | null = null): Tensor {
  return callOp(crossOp, [self, other, dim]);
}

const COV: OptionNames<{
  correction?: number;
  fweights?: Tensor | null;
  aweights?: Tensor | null;
}> = { correction: true, fweights: true, aweights: true };

/** Covariances of variables (rows) over observations (columns). @throws invalid-argument */
export function cov(
  self: Tensor,
  options: { correction?: number; fweights?: Tensor | null; aweights?: Tensor | null } = {},
): Tensor {
  checkOptionNames('cov', options, COV);
  const { correction = 1, fweights = null, aweights = null } = options;
  return callOp(covOp, [self, correction, fweights, aweights]);
}

/** Pearson correlations of variables (rows) over observations (columns). @throws invalid-argument */
export function corrcoef(self: Tensor): Tensor {
  return callOp(corrcoefOp, [self]);
}
