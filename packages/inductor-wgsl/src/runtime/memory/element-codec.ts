/**
 * @file Conversion between host layout (PyTorch's element widths) and device layout (4 bytes, or 2 for 16-bit
 * floats where the adapter has them).
 */
import { TesseraError } from '@tessera/shared';
import { itemSize, type DType } from '@tessera/tensor';
import { halfToNumber, numberToBfloat, numberToHalf } from '@tessera/tensor/internal';
import { LOST_INT64 } from '../../codegen/values/long-integers.js';
import { deviceItemSize } from '../../codegen/values/wgsl-types.js';

type Bytes = Uint8Array<ArrayBuffer>;

/** A typed array over bytes; copies them when they are not aligned for it. */
function view<T>(
  type: {
    new (buffer: ArrayBufferLike, byteOffset: number, length: number): T;
    readonly BYTES_PER_ELEMENT: number;
  },
  bytes: Uint8Array,
): T {
  const size = type.BYTES_PER_ELEMENT;
  const source = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  return new type(source.buffer, source.byteOffset, source.byteLength / size);
}

/**
 * Device layout of host bytes.
 *
 * @throws invalid-argument when an int64 does not fit in 32 bits, dtype-unsupported for float64
 */
export function toDevice(dtype: DType, host: Uint8Array, f16: boolean): Bytes {
  const count = host.byteLength / itemSize(dtype);
  if (itemSize(dtype) === deviceItemSize(dtype, f16)) return view(Uint8Array, host);
  const words = new Int32Array(count);
  const floats = new Float32Array(words.buffer);
  switch (dtype) {
    case 'int64':
      narrowInt64(view(Int32Array, host), words);
      break;
    case 'int16':
      words.set(view(Int16Array, host));
      break;
    case 'int8':
      words.set(view(Int8Array, host));
      break;
    case 'uint8':
      words.set(host);
      break;
    case 'bool':
      for (let i = 0; i < count; i++) words[i] = host[i] !== 0 ? 1 : 0;
      break;
    case 'float16': {
      const halves = view(Uint16Array, host);
      for (let i = 0; i < count; i++) floats[i] = halfToNumber(halves[i]);
      break;
    }
    default: {
      const halves = view(Uint16Array, host);
      for (let i = 0; i < count; i++) words[i] = halves[i] << 16;
    }
  }
  return new Uint8Array(words.buffer);
}

function narrowInt64(pairs: Int32Array, words: Int32Array): void {
  for (let i = 0; i < words.length; i++) {
    const low = pairs[2 * i];
    const high = pairs[2 * i + 1];
    if (high !== low >> 31 || low === LOST_INT64) {
      const value = (BigInt(high) << 32n) | BigInt(low >>> 0);
      throw new TesseraError(
        'invalid-argument',
        `int64 element ${i} is ${value}, which does not fit in the 32 bits that device 'wgpu' stores int64 in.`,
        {
          context: { index: i, value: String(value) },
          hints: ['Keep values within ±2147483647 on wgpu, or compute on device cpu.'],
        },
      );
    }
    words[i] = low;
  }
}

function refuseLost(index: number): never {
  throw new TesseraError(
    'invalid-argument',
    `int64 element ${index} has no value: what was computed does not fit in the 32 bits that device 'wgpu' stores int64 in.`,
    {
      context: { index },
      hints: [
        'If multinomial drew it: weights must be finite and not negative, with at least one above zero.',
        "Compute in floating point (x.to('float32')) where an approximate result will do, or on device cpu.",
      ],
    },
  );
}

/** Host layout of device bytes. @throws invalid-argument for an int64 result that did not fit in 32 bits */
export function toHost(dtype: DType, device: Bytes, f16: boolean): Bytes {
  if (itemSize(dtype) === deviceItemSize(dtype, f16)) return device.slice();
  const words = view(Int32Array, device);
  const floats = view(Float32Array, device);
  const host = new Uint8Array(words.length * itemSize(dtype));
  switch (dtype) {
    case 'int64': {
      const pairs = new Int32Array(host.buffer);
      for (let i = 0; i < words.length; i++) {
        if (words[i] === LOST_INT64) refuseLost(i);
        pairs[2 * i] = words[i];
        pairs[2 * i + 1] = words[i] >> 31;
      }
      break;
    }
    case 'float16': {
      const halves = new Uint16Array(host.buffer);
      for (let i = 0; i < words.length; i++) halves[i] = numberToHalf(floats[i]);
      break;
    }
    case 'bfloat16': {
      const halves = new Uint16Array(host.buffer);
      for (let i = 0; i < words.length; i++) halves[i] = numberToBfloat(floats[i]);
      break;
    }
    case 'int16':
      new Int16Array(host.buffer).set(words);
      break;
    default:
      host.set(words);
  }
  return host;
}
