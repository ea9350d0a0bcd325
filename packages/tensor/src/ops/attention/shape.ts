/**
 * @file What the attention ops share: the default scale, causal masks, shared heads.
 */
import { TesseraError } from '@tessera/shared';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { ones, scalarTensor, zeros } from '../factory/factory.js';
import { maskedFill } from '../pointwise/fill.js';
import { logicalNot } from '../pointwise/logical.js';
import { tril } from '../indexing/triangle.js';
import { expand, reshape } from '../view/view.js';
import { unsqueeze } from '../view/dims.js';
import { where } from '../pointwise/where.js';

/** The factor of the scores: 1/√E unless given. */
export function scaleOf(query: Tensor, scale: number | null): number {
  return scale ?? 1 / Math.sqrt(query.sizes.at(-1)!);
}

/** [L, S]: 0 up to the diagonal, -∞ above. */
export function causalBias(query: Tensor, key: Tensor): Tensor {
  const sizes = [query.sizes.at(-2)!, key.sizes.at(-2)!];
  const { device, dtype } = query;
  const hidden = logicalNot(tril(ones(sizes, { dtype: 'bool', device })));
  return maskedFill(zeros(sizes, { dtype, device }), hidden, -Infinity);
}

/** A bool mask (true takes part) as one that is added; others as they are. */
export function additiveMask(mask: Tensor | null, query: Tensor): Tensor | null {
  if (mask === null || mask.dtype !== 'bool') return mask;
  const { device, dtype } = query;
  return where(
    logicalNot(mask),
    scalarTensor(-Infinity, { dtype, device }),
    scalarTensor(0, { dtype, device }),
  );
}

/** Key or value [.., H, S, E] with every head repeated for the query heads that share it. @throws shape-mismatch */
export function headsRepeated(x: Tensor, query: Tensor): Tensor {
  const heads = x.sizes.at(-3);
  const wanted = query.sizes.at(-3);
  if (heads === wanted) return x;
  if (heads === undefined || wanted === undefined || wanted % heads !== 0) {
    throw new TesseraError(
      'shape-mismatch',
      `scaled_dot_product_attention: Number of heads in key and value must divide the number of heads in query, got ${formatSizes(x.sizes)} and ${formatSizes(query.sizes)}`,
      { hints: ['With enableGqa, consecutive query heads share one head of key and value.'] },
    );
  }
  const lead = x.sizes.slice(0, -3);
  const [s, e] = x.sizes.slice(-2);
  const wide = expand(unsqueeze(x, -3), [...lead, heads, wanted / heads, s, e]);
  return reshape(wide, [...lead, wanted, s, e]);
}
