/**
 * @file Options of products that are added to something: `addmm` and its like.
 */
import type { OptionNames, ScalarLike } from '@tessera/shared';

/** Factors of `addmm` and `baddbmm`. */
export interface ProductOptions {
  readonly beta?: ScalarLike;
  readonly alpha?: ScalarLike;
}

/** The names of `ProductOptions`. */
export const PRODUCT: OptionNames<ProductOptions> = { beta: true, alpha: true };
