/**
 * @file Stored bytes into the heap, as the elements of a dtype, piece by piece as they arrive.
 *
 * Numbers of 8 and 16 bits are looked up: a table of a stored type has 256 or 65,536 entries.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, itemSize } from '../dtype.js';
import { cpuHeap } from '../heap/cpu-heap.js';
import { elementWriter } from '../kernels/elements.js';
import { bfloatToNumber, halfToNumber } from '../kernels/float16.js';
import type { StoredType } from './stored-type.js';

/** Number of a float with `exponentBits` and `mantissaBits`; the top exponent is `ieee` infinities and NaN, or numbers. */
function smallFloat(
  bits: number,
  exponentBits: number,
  mantissaBits: number,
  ieee: boolean,
): number {
  const sign = bits >> 7 ? -1 : 1;
  const top = (1 << exponentBits) - 1;
  const exponent = (bits >> mantissaBits) & top;
  const mantissa = bits & ((1 << mantissaBits) - 1);
  const bias = top >> 1;
  if (ieee && exponent === top) return mantissa === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * mantissa * 2 ** (1 - bias - mantissaBits);
  return sign * (1 + mantissa * 2 ** -mantissaBits) * 2 ** (exponent - bias);
}

/**
 * What a table of a type holds: the OCP formats E4M3 (no infinities, one NaN of either sign), E5M2 and the scale
 * E8M0, and the two of 16 bits.
 *
 * @see https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1
 */
function tableEntry(code: string): ((bits: number) => number) | null {
  switch (code) {
    case 'F8_E4M3':
      return (bits) => ((bits & 127) === 127 ? NaN : smallFloat(bits, 4, 3, false));
    case 'F8_E5M2':
      return (bits) => smallFloat(bits, 5, 2, true);
    case 'F8_E8M0':
      return (bits) => (bits === 255 ? NaN : 2 ** (bits - 127));
    case 'F16':
      return halfToNumber;
    case 'BF16':
      return bfloatToNumber;
    default:
      return null;
  }
}

const tables: Record<string, Float32Array> = {};

function tableOf({ code, itemSize: bytes }: StoredType): Float32Array | null {
  const known = tables[code];
  if (known !== undefined) return known;
  const entry = tableEntry(code);
  if (entry === null) return null;
  return (tables[code] = Float32Array.from({ length: 256 ** bytes }, (_, bits) => entry(bits)));
}

/** Stored numbers at an aligned place. */
function numbersIn(bytes: Uint8Array, { code, itemSize: size }: StoredType): ArrayLike<number> {
  const aligned = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  const count = aligned.byteLength / size;
  if (size === 1) return aligned;
  if (size === 2) return new Uint16Array(aligned.buffer, aligned.byteOffset, count);
  if (code === 'U32') return new Uint32Array(aligned.buffer, aligned.byteOffset, count);
  return size === 4
    ? new Float32Array(aligned.buffer, aligned.byteOffset, count)
    : new Float64Array(aligned.buffer, aligned.byteOffset, count);
}

/** Writes whole elements from element `index` on of the memory at `ptr`. */
type Decode = (bytes: Uint8Array, ptr: number, index: number) => void;

/** The same bits in the heap. */
function copyBytes(size: number): Decode {
  return (bytes, ptr, index) => cpuHeap().u8.set(bytes, ptr + index * size);
}

function fromTable(stored: StoredType, table: Float32Array, to: DType): Decode {
  return (bytes, ptr, index) => {
    const codes = numbersIn(bytes, stored);
    if (to === 'float32') {
      const { f32 } = cpuHeap();
      const at = ptr / 4 + index;
      for (let i = 0; i < codes.length; i++) f32[at + i] = table[codes[i]!]!;
      return;
    }
    const write = elementWriter(to, ptr);
    for (let i = 0; i < codes.length; i++) write(index + i, table[codes[i]!]!);
  };
}

function convert(stored: StoredType, to: DType): Decode {
  return (bytes, ptr, index) => {
    const values = numbersIn(bytes, stored);
    const write = elementWriter(to, ptr);
    for (let i = 0; i < values.length; i++) write(index + i, values[i]!);
  };
}

/** U64 as int64. */
function checkedWholes(name: string): Decode {
  const copy = copyBytes(8);
  return (bytes, ptr, index) => {
    for (let top = 7; top < bytes.byteLength; top += 8)
      if (bytes[top]! > 127) {
        throw new TesseraError(
          'dtype-unsupported',
          `Tensor '${name}' has dtype "U64" and a value of 2^63 or more at element ${index + (top - 7) / 8}, which no dtype holds.`,
          { context: { name }, hints: ['Leave it out with the `keys` option.'] },
        );
      }
    copy(bytes, ptr, index);
  };
}

function decodeOf(stored: StoredType, to: DType, name: string): Decode {
  if (stored.code === 'U64') return checkedWholes(name);
  if (stored.dtype === to && stored.itemSize === itemSize(to)) return copyBytes(stored.itemSize);
  const table = tableOf(stored);
  return table === null ? convert(stored, to) : fromTable(stored, table, to);
}

/**
 * Returns what takes the bytes of a tensor in order, in pieces of any length, and writes them to the memory of which
 * `address` is asked each time: the heap may grow, and move, while pieces are awaited.
 *
 * @throws dtype-unsupported from what is returned, for a value that `to` cannot hold
 */
export function elementSink(
  name: string,
  stored: StoredType,
  to: DType,
  address: () => number,
): (piece: Uint8Array) => void {
  const decode = decodeOf(stored, to, name);
  return wholeItems(stored.itemSize, (bytes, index) => decode(bytes, address(), index));
}

/** Numbers that are stored together: `bytes` hold `elements` of them. */
export interface BlockFormat {
  readonly bytes: number;
  readonly elements: number;
  /** Writes the numbers of whole blocks to the start of `out`. */
  readonly decode: (blocks: Uint8Array, out: Float32Array) => void;
}

/** The same for numbers in blocks. */
export function blockSink(
  { bytes: size, elements, decode }: BlockFormat,
  to: DType,
  address: () => number,
): (piece: Uint8Array) => void {
  let values = new Float32Array(0);
  return wholeItems(size, (bytes, index) => {
    const count = (bytes.byteLength / size) * elements;
    const first = index * elements;
    const ptr = address();
    if (to === 'float32') {
      decode(bytes, cpuHeap().f32.subarray(ptr / 4 + first, ptr / 4 + first + count));
      return;
    }
    if (values.length < count) values = new Float32Array(count);
    decode(bytes, values);
    const write = elementWriter(to, ptr);
    for (let i = 0; i < count; i++) write(first + i, values[i]!);
  });
}

/** Takes pieces of any length, and hands on whole items of `size` bytes and the number of the first. */
export function wholeItems(
  size: number,
  take: (items: Uint8Array, index: number) => void,
): (piece: Uint8Array) => void {
  /** First bytes of an item whose last ones have not come. */
  const partial = new Uint8Array(size);
  let held = 0;
  let index = 0;
  const write = (whole: Uint8Array): void => {
    take(whole, index);
    index += whole.byteLength / size;
  };
  return (piece) => {
    let rest = piece;
    if (held > 0) {
      const more = rest.subarray(0, size - held);
      partial.set(more, held);
      held += more.byteLength;
      rest = rest.subarray(more.byteLength);
      if (held < size) return;
      write(partial);
      held = 0;
    }
    const whole = rest.byteLength - (rest.byteLength % size);
    if (whole > 0) write(rest.subarray(0, whole));
    held = rest.byteLength - whole;
    partial.set(rest.subarray(whole));
  };
}
