/**
 * @file Transforms from real numbers onto a set: parameters of a distribution as what an optimizer may change freely.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import {
  type Constraint,
  corrCholesky,
  lowerCholesky,
  positiveDefinite,
  real,
  simplex,
} from './constraints.js';
import { CorrCholeskyTransform } from './corr-cholesky-transform.js';
import type { Transform } from './transform.js';
import {
  ComposeTransform,
  IndependentTransform,
  identityTransform,
} from './transforms-composed.js';
import { CatTransform, StackTransform } from './transforms-along.js';
import { AffineTransform, ExpTransform, SigmoidTransform } from './transforms-elementwise.js';
import {
  LowerCholeskyTransform,
  PositiveDefiniteTransform,
  SoftmaxTransform,
  StickBreakingTransform,
} from './transforms-vector.js';

/** What both have; null for others. */
function ontoSet(
  constraint: Constraint,
  onto: (constraint: Constraint) => Transform,
): Transform | null {
  const { lower, upper, each, along }: Partial<Constraint> = constraint ?? {};
  if (constraint === real) return identityTransform();
  if (constraint === corrCholesky) return new CorrCholeskyTransform();
  if (along !== undefined) {
    const { dim, lengths } = along;
    const parts = along.parts.map(onto);
    return lengths === null
      ? new StackTransform(parts, { dim })
      : new CatTransform(parts, { dim, lengths });
  }
  if (each !== undefined) return new IndependentTransform(onto(each.base), each.count);
  if (lower !== undefined && upper !== undefined) {
    if (lower === 0 && upper === 1) return new SigmoidTransform();
    const width = isTensor(upper)
      ? upper.sub(lower)
      : isTensor(lower)
        ? lower.neg().add(upper)
        : upper - lower;
    return new ComposeTransform([new SigmoidTransform(), new AffineTransform(lower, width)]);
  }
  if (lower === 0) return new ExpTransform();
  if (lower !== undefined)
    return new ComposeTransform([new ExpTransform(), new AffineTransform(lower, 1)]);
  if (upper !== undefined)
    return new ComposeTransform([new ExpTransform(), new AffineTransform(upper, -1)]);
  return null;
}

function unknown(constraint: Constraint): TesseraError {
  return new TesseraError('invalid-argument', `Cannot transform ${constraint?.text} constraints`, {
    hints: [
      'Real numbers, intervals, simplex, corrCholesky, independent ones, cat and stack can be; by transformTo lowerCholesky and positiveDefinite too.',
    ],
  });
}

/** A bijection from real numbers onto a set. @throws invalid-argument @see torch.distributions.biject_to */
export function bijectTo(constraint: Constraint): Transform {
  if (constraint === simplex) return new StickBreakingTransform();
  const found = ontoSet(constraint, bijectTo);
  if (found === null) throw unknown(constraint);
  return found;
}

/** A transform from real numbers onto a set, not always a bijection. @throws invalid-argument @see torch.distributions.transform_to */
export function transformTo(constraint: Constraint): Transform {
  if (constraint === simplex) return new SoftmaxTransform();
  if (constraint === lowerCholesky) return new LowerCholeskyTransform();
  if (constraint === positiveDefinite) return new PositiveDefiniteTransform();
  const found = ontoSet(constraint, transformTo);
  if (found === null) throw unknown(constraint);
  return found;
}
