/**
 * @file How a model is rounded to 8 or 4 bits.
 */
import type { QuantizeOptions } from '@tessera/transformers';

/** Tables of embeddings get 8 bits, which they take well. */
export function roundedTo(bits: 4 | 8): QuantizeOptions {
  const embeddings = { bits: 8 } as const;
  return bits === 8 ? { bits, embeddings } : { bits, group: 32, embeddings };
}
