/**
 * @file Tensors of exported graphs as plain data, with the memory that they share.
 *
 * A tensor by itself is written with its values. Where several share memory, or one has strides of its own, the
 * memory is written once and they are places in it: a graph that writes to one changes the others.
 */
import {
  type DType,
  type Storage,
  type Tensor,
  DTYPES,
  asStrided,
  fromTypedArray,
  tensor as makeFromValues,
} from '@tessera/tensor';
import { numelOf } from '@tessera/tensor/internal';
import { type JsonField, encodeNumber } from '../json/json-field.js';

const MAX = Number.MAX_SAFE_INTEGER;
/** Most elements: more do not belong in a text. */
const MOST_ELEMENTS = 2 ** 28;
const WHOLE = /^-?\d{1,19}$/;

/** Values in order; special numbers by name, 64-bit integers in digits. */
type JsonValues = readonly (number | string)[];

/** A tensor: its values in row-major order, or its place in memory. */
export type JsonTensor = {
  readonly dtype: DType;
  readonly requiresGrad: boolean;
  readonly sizes: readonly number[];
} & (
  | { readonly values: JsonValues }
  | { readonly memory: number; readonly strides: readonly number[]; readonly offset: number }
);

/** Tensors by name, and the memory of those that are places in it, by number. */
export interface JsonTensors {
  readonly attributes: Readonly<Record<string, JsonTensor>>;
  readonly memories?: readonly { readonly dtype: DType; readonly values: JsonValues }[];
}

/** The elements of a storage that some tensors use. */
interface Range {
  readonly number: number;
  readonly like: Tensor;
  from: number;
  to: number;
}

/** Writes tensors. */
export function tensorsToJson(tensors: ReadonlyMap<string, Tensor>): JsonTensors {
  const all = [...new Set(tensors.values())];
  const ranges = new Map<Storage, Range>();
  for (const like of all) {
    const { storage, sizes, strides, storageOffset: from } = like;
    if (like.isContiguous() && all.every((one) => one === like || one.storage !== storage))
      continue;
    const range = ranges.get(storage) ?? { number: ranges.size, like, from, to: from };
    ranges.set(storage, range);
    range.from = Math.min(range.from, from);
    range.to = Math.max(range.to, endOf(sizes, strides, from));
  }
  const attributes = [...tensors].map(([path, tensor]): [string, JsonTensor] => {
    const { storage, dtype, requiresGrad, sizes, strides, storageOffset } = tensor;
    const about = { dtype, requiresGrad, sizes: [...sizes] };
    const range = ranges.get(storage);
    if (range === undefined) return [path, { ...about, values: valuesToJson(tensor) }];
    const offset = storageOffset - range.from;
    return [path, { ...about, memory: range.number, strides: [...strides], offset }];
  });
  const memories = [...ranges.values()].map(({ like, from, to }) => ({
    dtype: like.dtype,
    values: valuesToJson(asStrided(like.detach(), [to - from], [1], from)),
  }));
  return {
    attributes: Object.fromEntries(attributes),
    ...(memories.length === 0 ? {} : { memories }),
  };
}

/** Behind the last element of a place. */
function endOf(sizes: readonly number[], strides: readonly number[], offset: number): number {
  if (sizes.includes(0)) return offset;
  return sizes.reduce((sum, size, d) => sum + (size - 1) * strides[d]!, offset) + 1;
}

function valuesToJson(tensor: Tensor): JsonValues {
  const values = tensor.toTypedArray();
  // As doubles, 64-bit integers may be other numbers.
  return values instanceof BigInt64Array
    ? Array.from(values, String)
    : Array.from(values, encodeNumber);
}

/** Reads tensors, by name; `json` has them under `attributes` and `memories`. */
export function readTensors(json: JsonField): (readonly [string, Tensor])[] {
  const memories = (json.optional('memories')?.items() ?? []).map((memory) =>
    readValues(memory, memory.field('dtype').keyOf(DTYPES)),
  );
  return json
    .field('attributes')
    .entries()
    .map(([path, tensor]) => [path, readTensor(tensor, memories)] as const);
}

function readTensor(json: JsonField, memories: readonly Tensor[]): Tensor {
  const dtype = json.field('dtype').keyOf(DTYPES);
  const requires = json.field('requiresGrad').boolean();
  const sizes = integers(json.field('sizes'));
  if (requires && !dtype.includes('float')) json.refuse(`is ${dtype}, which has no gradients`);
  const tensor = json.has('memory')
    ? readPlace(json, sizes, memories)
    : readWhole(json, dtype, sizes);
  if (tensor.dtype !== dtype) json.refuse(`is ${dtype} in memory of ${tensor.dtype}`);
  return tensor.detach().requiresGrad_(requires);
}

function readWhole(json: JsonField, dtype: DType, sizes: readonly number[]): Tensor {
  const values = readValues(json, dtype);
  if (numelOf(sizes) !== values.numel) json.refuse('has another number of values than its sizes');
  return values.view(sizes);
}

function readPlace(json: JsonField, sizes: readonly number[], memories: readonly Tensor[]): Tensor {
  const memory = memories[json.field('memory').integer(0, memories.length - 1)]!;
  const strides = integers(json.field('strides'));
  const offset = json.field('offset').integer(0, MAX);
  if (strides.length !== sizes.length) json.refuse('has another number of sizes than of strides');
  if (endOf(sizes, strides, offset) > memory.numel) json.refuse('ends behind its memory');
  if (numelOf(sizes) > MOST_ELEMENTS) json.refuse('has too many elements');
  return asStrided(memory, sizes, strides, offset);
}

function integers(json: JsonField): number[] {
  return json.items(64).map((value) => value.integer(0, MAX));
}

/** The values of `json`, one behind another. */
function readValues(json: JsonField, dtype: DType): Tensor {
  const values = json.field('values').items(MOST_ELEMENTS);
  if (dtype !== 'int64')
    return makeFromValues(
      values.map((value) => value.number()),
      { dtype },
    );
  const words = values.map((value) => {
    const whole = BigInt(value.name(WHOLE));
    if (BigInt.asIntN(64, whole) !== whole) value.refuse('is no int64');
    return whole;
  });
  return fromTypedArray(BigInt64Array.from(words), [words.length]);
}
