/**
 * @file Options that reductions share.
 */
import type { OptionNames } from '@tessera/shared';
import type { DType } from '../../dtype.js';

/** Options of `argmax`, `amax`, `all` and their like. */
export interface KeepdimOptions {
  /** Reduced dimensions stay, with size 1 (default false). */
  readonly keepdim?: boolean;
}

/** The names of `KeepdimOptions`. */
export const KEEPDIM: OptionNames<KeepdimOptions> = { keepdim: true };

/** Options of reductions: `dim` null reduces all dimensions. */
export interface ReduceOptions {
  readonly keepdim?: boolean;
  readonly dtype?: DType;
}

/** The names of `ReduceOptions`. */
export const REDUCE: OptionNames<ReduceOptions> = { keepdim: true, dtype: true };
