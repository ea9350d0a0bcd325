/**
 * @file Why a tensor is not what a guard expects, in PyTorch's words: for all that does not depend on symbols.
 */
import { DTYPES, type DType, type Tensor, requiresGrad } from '@tessera/tensor';

/** What guards on tensors have in common. */
interface ExpectedMetadata {
  readonly dtype: DType;
  readonly device: string;
  readonly requiresGrad: boolean;
}

/** The first difference in dtype, device, `requires_grad`, rank and sizes that are numbers; null if there is none. */
export function metadataChange(
  tensor: Tensor,
  name: string,
  expected: ExpectedMetadata,
  sizes: readonly unknown[],
): string | null {
  const subject = `tensor '${name}'`;
  if (tensor.dtype !== expected.dtype)
    return `${subject} dtype mismatch. expected ${DTYPES[expected.dtype].scalarTypeName}, actual ${DTYPES[tensor.dtype].scalarTypeName}`;
  if (tensor.device !== expected.device)
    return `${subject} device mismatch. expected ${expected.device}, actual ${tensor.device}`;
  if (requiresGrad(tensor) !== expected.requiresGrad)
    return `${subject} requires_grad mismatch. expected requires_grad=${expected.requiresGrad ? 1 : 0}`;
  if (tensor.ndim !== sizes.length)
    return `${subject} rank mismatch. expected ${sizes.length}, actual ${tensor.ndim}`;
  for (const [i, size] of sizes.entries())
    if (typeof size === 'number' && tensor.sizes[i] !== size)
      return `${subject} size mismatch at index ${i}. expected ${size}, actual ${tensor.sizes[i]}`;
  return null;
}
