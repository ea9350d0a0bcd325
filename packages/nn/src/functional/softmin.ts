/**
 * @file Softmax of negated values.
 */
import { type Tensor, neg, softmax } from '@tessera/tensor';

/** e⁻ˣ normalised along a dimension. @throws invalid-dim @see torch.nn.functional.softmin */
export function softmin(input: Tensor, dim: number): Tensor {
  return softmax(neg(input), dim);
}
