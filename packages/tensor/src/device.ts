/**
 * @file Devices: the memory operations that a device package registers.
 *
 * `cpu` is built in (its memory is the WebAssembly heap); `wgpu` and others register a
 * `DeviceRuntime`. Kernels are registered separately (`kernel-provider.ts`): a device needs no kernel
 * to hold tensors. Host layout below means PyTorch's element widths (`itemSize`), little-endian.
 */
import { TesseraError, nearestNames } from '@tessera/shared';
import { DTYPES, type DType } from './dtype.js';
import type { OpOverload } from './op/op-overload.js';
import type { Tensor } from './tensor.js';

/**
 * The names that devices have in types, as keys. A package with a device of its own adds its name:
 *
 * @example
 *   declare module '@tessera/tensor' {
 *     interface DeviceTypes {
 *       npu: true;
 *     }
 *   }
 */
export interface DeviceTypes {
  /** The WebAssembly heap, read at once. */
  readonly cpu: true;
  /** WebGPU, read with `await`. */
  readonly wgpu: true;
}

/** Where a tensor's memory lives. `cpu`, `wgpu`, or the name of a registered device. */
export type DeviceType = keyof DeviceTypes;

/** Opaque memory of a device; the runtime that made it knows what it is. */
export type DeviceMemory = object;

/** Memory operations of a device other than `cpu`. All calls enqueue in order; only `download` waits. */
export interface DeviceRuntime {
  readonly type: DeviceType;
  /** Bytes per element on the device, or 0 if the dtype cannot be stored there. */
  itemSize(dtype: DType): number;
  /** @throws out-of-memory */
  allocate(bytes: number): DeviceMemory;
  free(memory: DeviceMemory): void;
  /** Writes `host` (host layout of `dtype`) from element `offset` on. @throws invalid-argument when a value does not fit */
  upload(memory: DeviceMemory, offset: number, dtype: DType, host: Uint8Array): void;
  /** Reads `count` elements from element `offset` on, in host layout. */
  download(memory: DeviceMemory, offset: number, dtype: DType, count: number): Promise<Uint8Array>;
  /** Copies `bytes` bytes between two memories of this device. */
  copy(src: DeviceMemory, srcByte: number, dst: DeviceMemory, dstByte: number, bytes: number): void;
  /** Resolves when all enqueued work has finished. */
  synchronize(): Promise<void>;
}

const runtimes = new Map<DeviceType, DeviceRuntime>();

/** What tensors on devices other than `cpu` need. */
export interface Transfers {
  /** The arguments of an operator on one device, where that is allowed. Copies are made through `dispatch`. */
  place(
    op: OpOverload,
    args: readonly unknown[],
    dispatch: (op: OpOverload, args: readonly unknown[]) => unknown,
  ): readonly unknown[];
  /** Copies a CPU tensor's values into a tensor on another device, converting dtype and layout. */
  upload(source: Tensor, target: Tensor): void;
  /** What `use` makes of a tensor's values, to be awaited; `what` is the call, for errors. */
  readLater<T>(tensor: Tensor, use: (values: Float64Array) => T, what: string): T;
}

/** Null while there is only `cpu`: a program without other devices has nothing of this. */
export const transfers: { active: Transfers | null } = { active: null };

/** Makes a runtime known; `registerDevice` is what people call. */
export function addRuntime(runtime: DeviceRuntime, using: Transfers): void {
  runtimes.set(runtime.type, runtime);
  transfers.active = using;
}

/** Whether tensors can be made on the device in this program. */
export function isDeviceAvailable(type: string): type is DeviceType {
  return type === 'cpu' || runtimes.has(type as DeviceType);
}

/** What PyTorch calls a GPU. */
const GPU_NAMES = new Set(['cuda', 'gpu', 'mps', 'webgpu', 'xpu', 'vulkan']);
/** What PyTorch calls dtypes, by our names. */
const DTYPE_NAMES: Readonly<Record<string, DType>> = {
  float: 'float32',
  double: 'float64',
  half: 'float16',
  long: 'int64',
  int: 'int32',
  short: 'int16',
  char: 'int8',
  byte: 'uint8',
  boolean: 'bool',
};

function hintFor(type: string, known: readonly string[]): string {
  const start = `await initWebGpu() of '@tessera/compile' before using device 'wgpu'.`;
  if (type === 'wgpu') return `First ${start}`;
  if (typeof type !== 'string') return "Pass the name of a dtype or a device: x.to('float16').";
  const [plain] = type.split(':');
  if (GPU_NAMES.has(plain!)) return `The GPU is device 'wgpu' here: ${start}`;
  const [near] = nearestNames(type, known);
  if (near !== undefined) return `Did you mean '${near}'?`;
  const dtype = DTYPE_NAMES[plain!] ?? nearestNames(type, Object.keys(DTYPES))[0];
  return dtype === undefined
    ? `Devices are ${known.join(', ')}.`
    : `If you meant a dtype, it is '${dtype}'.`;
}

/** The runtime of a device. @throws device-unavailable */
export function deviceRuntime(type: DeviceType): DeviceRuntime {
  const runtime = runtimes.get(type);
  if (runtime === undefined) {
    const known = ['cpu', ...runtimes.keys()];
    throw new TesseraError(
      'device-unavailable',
      `Device '${type}' is not available. Available: ${known.join(', ')}.`,
      {
        context: { device: type, known },
        hints: [hintFor(type, known)],
      },
    );
  }
  return runtime;
}
