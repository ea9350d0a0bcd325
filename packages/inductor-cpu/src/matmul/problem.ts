/**
 * @file A product of a schedule, with what its code is made of.
 */
import {
  type AttentionKernel,
  type BlockProduct,
  type BlockSide,
  type Expr,
  type MatmulKernel,
  type SizedLoop,
} from '@tessera/inductor-core';
import { type Size, TesseraError } from '@tessera/shared';
import type { SizeSlots } from '../body/size-slots.js';
import { elementType, type ElementType } from './element-type.js';

/** A kernel that has products. */
export type ProductKernel = MatmulKernel<Size> | AttentionKernel<Size>;

/** One side of the product. */
export interface Operand {
  readonly side: 'a' | 'b';
  readonly lines: readonly SizedLoop[];
  readonly expr: Expr;
}

/** See the file header. */
export interface MatmulProblem {
  readonly kernel: ProductKernel;
  readonly type: ElementType;
  readonly sizes: SizeSlots;
  readonly batch: readonly SizedLoop[];
  readonly depth: readonly SizedLoop[];
  readonly a: Operand;
  readonly b: Operand;
}

/** How sums of a kernel are vectors. @throws kernel-missing when they are not */
export function typeOfSums({ name, accDtype }: ProductKernel): ElementType {
  const type = elementType(accDtype);
  if (type !== null) return type;
  throw new TesseraError(
    'kernel-missing',
    `cpu: kernel ${name}: matrix products in ${accDtype} are not supported.`,
    {
      hints: ['Use float32, float64, int32 or int64 operands.'],
    },
  );
}

/** A product of a kernel. */
export function problemOf(
  kernel: ProductKernel,
  { a, b, batch, steps: depth }: BlockProduct,
  sizes: SizeSlots,
): MatmulProblem {
  // Of what is made, nothing is evaluated.
  const operand = (side: 'a' | 'b', { lines, value }: BlockSide, other: BlockSide): Operand => ({
    side,
    lines,
    expr: (value ?? other.value)!,
  });
  const type = typeOfSums(kernel);
  return { kernel, type, sizes, batch, depth, a: operand('a', a, b), b: operand('b', b, a) };
}
