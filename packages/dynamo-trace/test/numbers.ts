/**
 * @file Tensors of known values.
 */
import { type Tensor, arange } from '@tessera/tensor';

/** 1/7, 2/7, … in a shape. */
export function numbers(...sizes: number[]): Tensor {
  return arange(
    sizes.reduce((a, b) => a * b, 1),
    { dtype: 'float32' },
  )
    .add(1)
    .view(sizes)
    .div(7);
}
