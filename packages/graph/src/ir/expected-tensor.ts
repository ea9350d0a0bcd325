/**
 * @file What a graph expects of a tensor: how it is printed, and in PyTorch's words why a tensor is not that.
 */
import { type DeviceType, type DType, type Tensor, DTYPES } from '@tessera/tensor';
import { requiresGrad } from '@tessera/tensor/internal';

/** What guards on tensors have in common. Sizes and strides that are no numbers are for the guard to decide. */
export interface ExpectedTensor<Length = unknown> {
  readonly dtype: DType;
  readonly device: DeviceType;
  readonly sizes: readonly Length[];
  readonly strides: readonly Length[];
  readonly requiresGrad: boolean;
}

/** The first difference in dtype, device, `requires_grad`, rank, and numbers among sizes and strides; null if there is none. */
export function tensorMismatch(
  tensor: Tensor,
  name: string,
  { dtype, device, sizes, strides, ...expected }: ExpectedTensor,
): string | null {
  const subject = `tensor '${name}'`;
  if (tensor.dtype !== dtype)
    return `${subject} dtype mismatch. expected ${DTYPES[dtype].scalarTypeName}, actual ${DTYPES[tensor.dtype].scalarTypeName}`;
  if (tensor.device !== device)
    return `${subject} device mismatch. expected ${device}, actual ${tensor.device}`;
  if (requiresGrad(tensor) !== expected.requiresGrad)
    return `${subject} requires_grad mismatch. expected requires_grad=${expected.requiresGrad ? 1 : 0}`;
  if (tensor.ndim !== sizes.length)
    return `${subject} rank mismatch. expected ${sizes.length}, actual ${tensor.ndim}`;
  for (const [i, size] of sizes.entries())
    if (typeof size === 'number' && tensor.sizes[i] !== size)
      return `${subject} size mismatch at index ${i}. expected ${size}, actual ${tensor.sizes[i]}`;
  for (const [i, stride] of strides.entries())
    if (typeof stride === 'number' && tensor.strides[i] !== stride && tensor.sizes[i] !== 1)
      return strideMismatch(tensor, name, i, stride);
  return null;
}

/** Words for a stride that is another one. */
export function strideMismatch(
  { strides }: Tensor,
  name: string,
  dim: number,
  expected: number,
): string {
  return `tensor '${name}' stride mismatch at index ${dim}. expected ${expected}, actual ${strides[dim]}`;
}

/** `TENSOR_MATCH float32 cpu [s0, 3] strides [3, 1] requires_grad` */
export function printExpected<Length>(
  { dtype, device, sizes, strides, ...expected }: ExpectedTensor<Length>,
  print: (size: Length) => string = String,
): string {
  const list = (all: readonly Length[]): string => `[${all.map(print).join(', ')}]`;
  return `TENSOR_MATCH ${dtype} ${device} ${list(sizes)} strides ${list(strides)}${expected.requiresGrad ? ' requires_grad' : ''}`;
}
