/**
 * @file Activations made of operators.
 */
import { type Tensor, abs, add, div, neg, softmax, sub, tanh } from '@tessera/tensor';

/** e⁻ˣ normalised along a dimension. @throws invalid-dim @see torch.nn.functional.softmin */
export function softmin(input: Tensor, dim: number): Tensor {
  return softmax(neg(input), dim);
}

/** x / (1 + |x|) @see torch.nn.functional.softsign */
export function softsign(input: Tensor): Tensor {
  return div(input, add(abs(input), 1));
}

/** x - tanh x @see torch.nn.functional.tanhshrink */
export function tanhshrink(input: Tensor): Tensor {
  return sub(input, tanh(input));
}
