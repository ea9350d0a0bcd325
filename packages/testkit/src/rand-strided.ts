/**
 * @file `randStrided`: random tensors with given strides.
 */
import {
  type DeviceType,
  type DType,
  type Tensor,
  asStrided,
  isFloatingPoint,
  randint,
  randn,
} from '@tessera/tensor';

/** Dtype, device and extra elements. */
export interface RandStridedOptions {
  /** Default `float32`. */
  readonly dtype?: DType;
  /** Default `cpu`. */
  readonly device?: DeviceType;
  /** Elements of memory behind the last one that is addressed (default 0). */
  readonly extraSize?: number;
}

/**
 * A tensor of random numbers with the given sizes and strides: normal ones, or integers from 0 to 127.
 *
 * @example randStrided([92, 4, 64], [1, 5888, 92])
 * @see torch._dynamo.testing.rand_strided
 */
export function randStrided(
  sizes: readonly number[],
  strides: readonly number[],
  options: RandStridedOptions = {},
): Tensor {
  const { dtype = 'float32', device = 'cpu', extraSize = 0 } = options;
  const needed = sizes.reduce((last, size, i) => last + (size - 1) * strides[i]!, 1) + extraSize;
  const memory = isFloatingPoint(dtype)
    ? randn([needed], { dtype, device })
    : randint(0, dtype === 'bool' ? 2 : 128, [needed], { dtype: 'int64', device }).to(dtype);
  return asStrided(memory, [...sizes], [...strides]);
}
