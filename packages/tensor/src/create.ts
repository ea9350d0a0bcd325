/**
 * @file Tensors from JavaScript values.
 */
import { TesseraError } from '@tessera/shared';
import { defaultDType } from './default-dtype.js';
import { type DType, isIntegral, itemSize } from './dtype.js';
import { cpuHeap } from './heap/cpu-heap.js';
import { writeNumbers } from './kernels/elements.js';
import { checkFillValue } from './kernels/fill-value.js';
import { bigElement, isBig } from './kernels/integer-arithmetic.js';
import { type TensorOptions, checkTensorOptions } from './ops/factory/factory.js';
import { formatSizes, numelOf } from './shape.js';
import { emptyContiguous, isFakeMode, withRealTensors } from './tensor-factory.js';
import type { TypedValues } from './read-values.js';
import { clone, toDevice } from './ops/arrange/copy.js';
import { activeMode, withoutModes } from './dispatch/modes.js';
import type { Tensor } from './tensor.js';
import { withGradMode } from './autograd/grad-mode.js';

/** What a tensor can be made from: numbers or booleans nested to any depth, or a typed array. */
export type TensorData = number | boolean | bigint | readonly TensorData[] | TypedData;

/** A typed array of a dtype. */
export type TypedData = TypedValues | Uint8ClampedArray;

const VIEW_DTYPES: readonly [abstract new (...args: never[]) => ArrayBufferView, DType][] = [
  [Float32Array, 'float32'],
  [Float64Array, 'float64'],
  [BigInt64Array, 'int64'],
  [Int32Array, 'int32'],
  [Int16Array, 'int16'],
  [Int8Array, 'int8'],
  [Uint8Array, 'uint8'],
  [Uint8ClampedArray, 'uint8'],
];

interface Flat {
  readonly sizes: number[];
  readonly values: readonly (number | boolean | bigint)[];
  /** Whether they are all numbers. */
  readonly isPlain: boolean;
}

/** Shape and flat values of nested arrays. @throws shape-mismatch, invalid-argument */
function flatten(data: TensorData): Flat {
  const sizes: number[] = [];
  for (let level: TensorData = data; Array.isArray(level); level = level[0]) {
    sizes.push(level.length);
    if (level.length === 0) break;
  }
  let level: readonly TensorData[] = Array.isArray(data) ? data : [data];
  for (let d = 1; d < sizes.length; d++) {
    const next: TensorData[] = [];
    for (const item of level) {
      if (!Array.isArray(item) || item.length !== sizes[d]) {
        throw new TesseraError(
          'shape-mismatch',
          `tensor(): nested arrays must be rectangular: expected length ${sizes[d]} at dim ${d} (got ${Array.isArray(item) ? item.length : 'a number'})`,
          {
            hints: ['Give every row the same length.'],
          },
        );
      }
      for (let i = 0; i < item.length; i++) next.push(item[i]);
    }
    level = next;
  }
  let isPlain = true;
  // By number: callbacks for each of a million elements take as long as all else.
  for (let i = 0; i < level.length; i++) {
    const value = level[i];
    if (typeof value === 'number') continue;
    isPlain = false;
    if (typeof value !== 'boolean' && typeof value !== 'bigint') {
      throw new TesseraError(
        'invalid-argument',
        `tensor(): cannot make an element from ${Array.isArray(value) ? 'a nested array' : value === null ? 'null' : typeof value}.`,
        { hints: ['Pass numbers, booleans, nested arrays of them, or a typed array.'] },
      );
    }
  }
  return { sizes, values: level as (number | boolean | bigint)[], isPlain };
}

function inferDType(values: readonly (number | boolean | bigint)[]): DType {
  if (values.every((value) => typeof value === 'boolean')) return 'bool';
  return values.every((value) => typeof value !== 'number' || Number.isSafeInteger(value)) &&
    values.some((value) => typeof value === 'bigint')
    ? 'int64'
    : defaultDType();
}

/**
 * What is written down holds data also in a trace of FakeTensors. A trace that runs without the program works on a
 * copy, which it may modify.
 */
function literal(make: () => Tensor): Tensor {
  const made = withRealTensors(() => withoutModes(make));
  const isCopied = isFakeMode() || (activeMode()?.copiesLiterals === true && !made.requiresGrad);
  return isCopied ? clone(made) : made;
}

function finish(cpu: Tensor, options: TensorOptions): Tensor {
  checkTensorOptions(options);
  const tensor =
    options.device === undefined || options.device === 'cpu'
      ? cpu
      : withGradMode(false, () => toDevice(cpu, options.device!));
  if (options.requiresGrad === true) tensor.requiresGrad_();
  return tensor;
}

/**
 * A tensor with a copy of the data.
 *
 * JavaScript cannot tell `1` from `1.0`, so numbers become the default float type; pass
 * `dtype: 'int64'` for integers. Booleans become bool, bigints int64, typed arrays keep their type.
 *
 * @throws shape-mismatch, invalid-argument, device-unavailable
 * @example tensor([[1, 2], [3, 4]], { dtype: 'int64' })
 */
export function tensor(data: TensorData, options: TensorOptions = {}): Tensor {
  return literal(() => {
    if (ArrayBuffer.isView(data)) return fromTypedArray(data, [data.length], options);
    const { sizes, values, isPlain } = flatten(data);
    const dtype = options?.dtype ?? (isPlain ? defaultDType() : inferDType(values));
    const out = emptyContiguous(sizes, dtype, 'cpu');
    // What a double does not hold stays a BigInt, as among `Elements`.
    const numbers = isPlain
      ? (values as readonly number[])
      : values.map((value) =>
          isBig(value) && !Number.isSafeInteger(Number(value)) ? bigElement(value) : Number(value),
        );
    if (isIntegral(out.dtype)) for (const number of numbers) checkFillValue(number, out.dtype);
    writeNumbers(out, numbers);
    return finish(out, options);
  });
}

/** A tensor of a given shape with a copy of a typed array's values. @throws shape-mismatch, invalid-argument */
export function fromTypedArray(
  data: TypedData,
  sizes: readonly number[],
  options: TensorOptions = {},
): Tensor {
  return literal(() => {
    const native = VIEW_DTYPES.find(([constructor]) => data instanceof constructor)?.[1];
    if (native === undefined) {
      throw new TesseraError(
        'invalid-argument',
        `Cannot make a tensor from ${String(data?.constructor.name)}.`,
        {
          hints: ['Pass an array of a dtype, such as Float32Array or Uint8Array.'],
        },
      );
    }
    const { length } = data;
    if (numelOf(sizes) !== length) {
      throw new TesseraError(
        'shape-mismatch',
        `shape ${formatSizes(sizes)} is invalid for a typed array of length ${length}`,
        { hints: ['The sizes multiply to the length.'] },
      );
    }
    const out = emptyContiguous(sizes, options.dtype ?? native, 'cpu');
    if (out.dtype === native) {
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      cpuHeap().u8.set(bytes, out.dataPtr());
    } else {
      writeNumbers(out, data instanceof BigInt64Array ? Array.from(data, bigElement) : data);
    }
    return finish(out, options);
  });
}

/** A tensor from raw little-endian bytes of a dtype (host layout), as files hold them. @throws shape-mismatch, invalid-argument */
export function fromBytes(
  bytes: Uint8Array,
  sizes: readonly number[],
  dtype: DType,
  options: TensorOptions = {},
): Tensor {
  return literal(() => {
    if (!(bytes instanceof Uint8Array) || !Array.isArray(sizes))
      throw new TesseraError(
        'invalid-argument',
        'fromBytes takes a Uint8Array, a list of sizes and a dtype.',
        {
          hints: ["Write fromBytes(bytes, [2, 3], 'float32')."],
        },
      );
    if (bytes.byteLength !== numelOf(sizes) * itemSize(dtype)) {
      throw new TesseraError(
        'shape-mismatch',
        `${bytes.byteLength} bytes do not hold ${formatSizes(sizes)} of ${dtype}`,
        { hints: ['Check the shape and dtype.'] },
      );
    }
    const out = emptyContiguous(sizes, dtype, 'cpu');
    cpuHeap().u8.set(bytes, out.dataPtr());
    return finish(out, options);
  });
}
