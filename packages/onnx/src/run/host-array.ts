/**
 * @file `HostArray`: numbers that the program knows while it runs, such as shapes and constants.
 *
 * The shape of a tensor is a host array, and so is what arithmetic makes of shapes and constants. It becomes a tensor
 * only where an operator needs one. So shape arithmetic costs no kernels, and a compiled call has no graph break in it.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, type DeviceType, type Tensor, fromTypedArray, keep } from '@tessera/tensor';
import { numelOf, readNumbers } from '@tessera/tensor/internal';
import { isUnwritten } from './writes.js';

/** Host arrays with more elements are tensors instead. */
export const HOST_LIMIT = 1024;

/** See the file header. */
export class HostArray {
  private readonly made = new Map<DeviceType, Tensor>();

  /** @param isConstant whether it is the same in every call: then its tensor is made once */
  constructor(
    readonly dtype: DType,
    readonly shape: readonly number[],
    /** Row-major; bools are 0 and 1. */
    readonly data: readonly number[],
    private readonly isConstant = false,
    /** Makes the tensor, where an operator does that better than a copy of the numbers. */
    private readonly make: ((device: DeviceType) => Tensor) | null = null,
  ) {}

  /** Number of elements. */
  get numel(): number {
    return this.data.length;
  }

  /** Number of dimensions. */
  get ndim(): number {
    return this.shape.length;
  }

  /**
   * Whether its numbers have a tensor of their own, as constants of the file do. What is made of them in a shape that varies
   * is made of that tensor: numbers would be another constant at each size.
   */
  get hasTensor(): boolean {
    return this.isConstant || this.make !== null;
  }

  /** The numbers as a tensor. @throws device-unavailable */
  toTensor(device: DeviceType): Tensor {
    const found = this.made.get(device);
    // A caller that was given it as an output may have written to it.
    if (found !== undefined && isUnwritten(found)) return found;
    const tensor =
      this.make?.(device) ??
      fromTypedArray(Float64Array.from(this.data), this.shape, { dtype: this.dtype, device });
    if (this.isConstant) this.made.set(device, keep(tensor));
    return tensor;
  }

  /** The same numbers in another shape of as many elements. */
  reshaped(shape: readonly number[]): HostArray {
    const { make } = this;
    // Of a list, one size is left open: code is the same however long it is.
    const isList = shape.filter((size) => size !== 1).length === 1;
    const open = isList ? shape.map((size) => (size === 1 ? 1 : -1)) : shape;
    const reshape = make && ((device: DeviceType) => make(device).reshape(open));
    return new HostArray(this.dtype, shape, this.data, false, reshape);
  }
}

/** A copy of a tensor that is on the CPU. Of one that is being traced, this ends the graph. */
export function hostCopy(tensor: Tensor): HostArray {
  return readHost(tensor.detach());
}

/** A copy of a tensor that is on the CPU and has its values. */
export function readHost(tensor: Tensor): HostArray {
  return new HostArray(tensor.dtype, [...tensor.shape], Array.from(readNumbers(tensor)));
}

/** Whether numbers are those of the tensor: a float64 cannot tell the largest whole numbers apart. */
export function isExact({ data, dtype }: HostArray): boolean {
  return dtype !== 'int64' || data.every((value) => Math.abs(value) < Number.MAX_SAFE_INTEGER);
}

/** Whether numbers are whole and beyond 32 bits: not every device can hold them. */
export function isBeyond32Bits({ data, dtype }: HostArray): boolean {
  return dtype === 'int64' && data.some((value) => Math.abs(value) >= 2 ** 31);
}

/** Whether a shape is small enough for the host. */
export function fitsHost(shape: readonly number[]): boolean {
  return numelOf(shape) <= HOST_LIMIT;
}

/** Thrown where a value on another device is read in a call that cannot wait; `OnnxModule.run` waits and goes on. */
export class ValueWanted extends TesseraError {
  constructor(
    readonly tensor: Tensor,
    where: string,
  ) {
    super('data-async-only', `${where} reads the values of a tensor on ${tensor.device}`, {
      hints: ['Call await model.run(inputs): it waits for such values.'],
    });
  }
}
