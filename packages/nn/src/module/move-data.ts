/**
 * @file Giving a tensor other memory, dtype or device while it stays the same object.
 */
import { TesseraError } from '@tessera/shared';
import {
  type DeviceType,
  type DType,
  type Tensor,
  isDType,
  isFloatingPoint,
  keep,
  noGrad,
} from '@tessera/tensor';

/** Makes `tensor` hold what `source` holds; its identity, `requiresGrad` and hooks stay. */
export function replaceData(tensor: Tensor, source: Tensor): void {
  keep(source);
  tensor.setStorage(source.storage, source.storageOffset);
  tensor.dtype = source.dtype;
  tensor.device = source.device;
  tensor.sizes = source.sizes;
  tensor.strides = source.strides;
  tensor.guardSpec = null;
  // The node that accumulates its gradient describes the old data.
  if (tensor.autograd !== null) tensor.autograd.accumulator = null;
}

/** @throws dtype-unsupported unless a dtype to convert modules to is floating point; invalid-argument */
export function checkTarget(target: unknown, dtype: unknown = target): void {
  if (dtype !== target && isDType(target))
    throw new TesseraError('invalid-argument', 'to(): the device comes before the dtype.', {
      hints: ["Write model.to('wgpu', 'float16')."],
    });
  if (isDType(dtype) && !isFloatingPoint(dtype))
    throw new TesseraError(
      'dtype-unsupported',
      `nn.Module.to only accepts floating point dtypes, but got desired dtype=${dtype}`,
      { hints: ['Convert a single tensor with its own to().'] },
    );
}

/** Moves a parameter or buffer, with its gradient; a dtype changes only floating-point tensors. */
export function moveData(tensor: Tensor, target: DType | DeviceType): void {
  if (isDType(target) && !isFloatingPoint(tensor.dtype)) return;
  noGrad(() => {
    const moved = tensor.to(target);
    if (moved !== tensor) replaceData(tensor, moved);
    const { grad } = tensor;
    if (grad !== null) tensor.grad = keep(grad.to(target));
  });
}
