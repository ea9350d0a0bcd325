/**
 * @file What losses do last: their elements as they are, averaged or summed.
 */
import type { OptionNames } from '@tessera/shared';
import type { Tensor } from '../../tensor.js';
import { type Reduction, reductionNumber } from './nll.js';
import { mean, sum } from '../reduction/reduction.js';

/** Losses after ATen's reduction number (0 none, 1 mean, 2 sum). */
export function reduced(losses: Tensor, reduction: unknown): Tensor {
  return reduction === 1 ? mean(losses) : reduction === 2 ? sum(losses) : losses;
}

/** Parameters that every loss has. */
export interface LossOptions {
  /** What becomes of the elements (default mean). */
  readonly reduction?: Reduction;
}

/** The names of `LossOptions`. */
export const LOSS: OptionNames<LossOptions> = { reduction: true };

/** ATen's number of the reduction asked for. @throws invalid-argument */
export function reductionOf(options: LossOptions | undefined): number {
  return reductionNumber(options?.reduction ?? 'mean');
}
