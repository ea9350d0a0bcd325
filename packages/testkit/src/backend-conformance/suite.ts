/**
 * @file All cases of the conformance suite for backends, in order.
 */
import { POINTWISE_CASES } from './cases/pointwise.js';
import { PRODUCT_CASES } from './cases/product.js';
import { PROGRAM_CASES } from './cases/program.js';
import { REDUCTION_CASES } from './cases/reduction.js';
import { SIZE_CASES } from './cases/sizes.js';
import { VIEW_CASES } from './cases/view.js';
import { WRITE_CASES } from './cases/write.js';
import type { ConformanceCase } from './conformance-case.js';

/** See the file header. */
export const BACKEND_CONFORMANCE_CASES: readonly ConformanceCase[] = [
  ...POINTWISE_CASES,
  ...REDUCTION_CASES,
  ...VIEW_CASES,
  ...WRITE_CASES,
  ...PRODUCT_CASES,
  ...PROGRAM_CASES,
  ...SIZE_CASES,
];
