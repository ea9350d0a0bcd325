/**
 * @file Scaling vectors to norm 1.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { type Tensor, clampMin, div, norm } from '@tessera/tensor';

/** Options of `normalize`. */
export interface NormalizeOptions {
  /** Order of the norm (default 2). */
  readonly p?: number;
  /** Dimension of the vectors (default 1). */
  readonly dim?: number;
  /** Smallest divisor (default 1e-12). */
  readonly eps?: number;
}
const NORMALIZE: OptionNames<NormalizeOptions> = { p: true, dim: true, eps: true };

/** input / max(‖input‖, eps) along a dimension. @throws invalid-dim @see torch.nn.functional.normalize */
export function normalize(input: Tensor, options: NormalizeOptions = {}): Tensor {
  checkOptionNames('normalize', options, NORMALIZE);
  const { p = 2, dim = 1, eps = 1e-12 } = options;
  return div(input, clampMin(norm(input, p, dim, { keepdim: true }), eps));
}
