/**
 * @file Copies and conversions: clone, copy_, to, contiguous, detach.
 */
import { checkOptionNames } from '@tessera/shared';
import { type DeviceType, deviceRuntime, isDeviceAvailable, transfers } from '../../device.js';
import { refuseNumbers } from '../../dispatch/check-arguments.js';
import { unreadable } from '../../dispatch/unreadable-now.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, type DType, isFloatingPoint } from '../../dtype.js';
import { type Elements, readElements, writeNumbers } from '../../kernels/elements.js';
import {
  MEMORY_FORMAT,
  type MemoryFormat,
  formatStrides,
  metaOfSelf,
} from '../../memory-format.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { expandStrides, isContiguous, sameNumbers } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';

const cloneOp = defineOp(
  'aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor',
  {
    meta: ({ self, memory_format }) => ({
      sizes: self.sizes,
      strides: formatStrides(self, memory_format),
      dtype: self.dtype,
      device: self.device,
    }),
    kernel: ({ self }, [out]) => writeNumbers(out!, readElements(self)),
    vjp: (_args, { grad }) => ({ self: grad }),
  },
);

/** Values to write to `out`: a float that its integers cannot hold is their least, as the processor has it. */
function converted(src: Tensor, out: Tensor): Elements {
  const values = readElements(src, out.sizes);
  if (!isFloatingPoint(src.dtype) || DTYPES[out.dtype].category !== 'integral') return values;
  // Narrow integers are cut from 32 bits.
  const limit = out.dtype === 'int64' ? 2 ** 63 : 2 ** 31;
  return values.map((value) => {
    const whole = Math.trunc(value);
    return whole >= -limit && whole < limit ? whole : -limit;
  });
}

const copyOp = defineOp('aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor', {
  tags: ['pointwise'],
  meta: ({ self, src }) => {
    expandStrides(src.sizes, src.strides, self.sizes);
    return metaOfSelf({ self });
  },
  kernel: ({ src }, [out]) => writeNumbers(out!, converted(src, out!)),
  // What self was is differentiated too: its nodes run, and run only once.
  vjp: (_args, { grad }) => ({ self: () => zerosLike(grad), src: grad }),
});
const copyInplace = defineInplace(copyOp);

const toCopyOp = defineOp(
  'aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor',
  {
    meta: ({ self, dtype, device, memory_format }) => ({
      sizes: self.sizes,
      strides: formatStrides(self, memory_format),
      dtype: dtype ?? self.dtype,
      device: device ?? self.device,
    }),
    kernel: ({ self }, [out]) => {
      if (out!.device === 'cpu') writeNumbers(out!, converted(self, out!));
      else transfers.active!.upload(self, out!);
    },
    vjp: ({ self }, { grad }) => ({
      self: () => (grad.device === self.device ? grad : toDevice(grad, self.device)),
    }),
  },
);

const toDtypeOp = defineOp(
  'aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
  {
    decompose: ({ self, dtype, copy, memory_format }) =>
      self.dtype === dtype && copy !== true && keepsFormat(self, memory_format)
        ? self
        : callOp(toCopyOp, [self, dtype, null, null, null, false, memory_format]),
  },
);

export const toDeviceOp: OpOverload<Tensor> = defineOp(
  'aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
  {
    decompose: ({ self, device, dtype, copy, memory_format }) =>
      self.dtype === dtype &&
      self.device === device &&
      copy !== true &&
      keepsFormat(self, memory_format)
        ? self
        : callOp(toCopyOp, [self, dtype, null, device, null, false, memory_format]),
  },
);

/** Whether a tensor has the layout that a conversion asks for. */
function keepsFormat(self: Tensor, format: MemoryFormat | null): boolean {
  return (
    format === null ||
    format === 'preserve' ||
    sameNumbers(formatStrides(self, format), self.strides)
  );
}

export const detachOp: OpOverload<Tensor> = defineOp('aten::detach(Tensor(a) self) -> Tensor(a)', {
  tags: ['non-differentiable'],
  view: ({ self }) => ({ sizes: self.sizes, strides: self.strides, offset: self.storageOffset }),
});

const contiguousOp = defineOp(
  'aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)',
  {
    decompose: ({ self, memory_format }) => {
      const strides = formatStrides(self, memory_format);
      const already =
        memory_format === 'contiguous'
          ? isContiguous(self.sizes, self.strides)
          : sameNumbers(strides, self.strides);
      return already ? self : clone(self, { memoryFormat: memory_format });
    },
  },
);

/** A copy with its own memory; keeps a dense layout unless a format is given. */
export function clone(self: Tensor, options?: { memoryFormat?: MemoryFormat }): Tensor {
  checkOptionNames('clone', options, MEMORY_FORMAT);
  return callOp(cloneOp, [self, options?.memoryFormat ?? null]);
}

/** Copies `src` into self, broadcasting and converting. @throws shape-mismatch, schema-arguments */
export function copy_(self: Tensor, src: Tensor): Tensor {
  const args = [self, src, false];
  if (!isTensor(src)) refuseNumbers(copyInplace, args);
  return callOp(copyInplace, args);
}

/** self in row-major order (or another format), copied if it is not. */
export function contiguous(self: Tensor, options?: { memoryFormat?: MemoryFormat }): Tensor {
  checkOptionNames('contiguous', options, MEMORY_FORMAT);
  return callOp(contiguousOp, [self, options?.memoryFormat ?? 'contiguous']);
}

/** The same memory without gradient history. */
export function detach(self: Tensor): Tensor {
  return callOp(detachOp, [self]);
}

/** self as another dtype; itself if it has it. */
export function toDtype(self: Tensor, dtype: DType): Tensor {
  return callOp(toDtypeOp, [self, dtype, false, false, null]);
}

/**
 * self on another device; itself if it is there. Values of other devices reach `cpu` only asynchronously.
 *
 * @throws device-unavailable, data-async-only
 */
export function toDevice(self: Tensor, device: DeviceType): Tensor {
  if (self.device === device) return self;
  if (device !== 'cpu' && !isDeviceAvailable(device)) deviceRuntime(device);
  // While a graph is traced nothing is read; running it is what fails.
  if (self.device !== 'cpu' && !self.isFake) throw unreadable(self.device, device);
  return callOp(toCopyOp, [self, null, null, device, null, false, null]);
}
