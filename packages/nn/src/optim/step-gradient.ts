/**
 * @file The gradient that an update rule works with: sign and weight decay applied.
 */
import { type Tensor } from '@tessera/tensor';
import { type RegionNumber, gradientOf } from '@tessera/tensor/internal';
import type { Structure } from './bucket.js';

/** The numbers that weight decay needs. */
interface DecayScalars {
  readonly weightDecay: RegionNumber;
  /** 1 - lr · weightDecay: where the structure may be `decoupled`. */
  readonly shrink?: RegionNumber;
}

/**
 * The gradient of a parameter as `maximize` and `weightDecay` of the structure make it. Decoupled weight
 * decay shrinks the parameter now and leaves the gradient alone.
 */
export function stepGradient(param: Tensor, structure: Structure, scalars: DecayScalars): Tensor {
  const grad = structure.maximize ? gradientOf(param)!.neg() : gradientOf(param)!;
  if (!structure.weightDecay) return grad;
  if (!structure.decoupled) return grad.add(param, { alpha: scalars.weightDecay });
  param.mul_(scalars.shrink!);
  return grad;
}
