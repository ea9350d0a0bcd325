/**
 * @file Dropout.
 */
import { type Tensor, dropout as drop } from '@tessera/tensor';

/** Zeroes elements with probability p and scales the rest, when training. @throws invalid-argument @see torch.nn.functional.dropout */
export function dropout(
  input: Tensor,
  options: { readonly p?: number; readonly training?: boolean } = {},
): Tensor {
  return drop(input, options.p ?? 0.5, options.training ?? true);
}
