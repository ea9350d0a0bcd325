/**
 * @file Runs the same tests with onnxruntime-web (WebAssembly), for a number to stand beside ours.
 *
 * Values come back in the dtype that tensors have here: its uint16 are int32, its uint32 and uint64 int64.
 */
import * as ort from 'onnxruntime-web';
import { type DType, type Tensor, fromBytes, tensor } from '@tessera/tensor';
import type { Load } from './run-nodes.js';

const TYPES: Readonly<Record<string, DType>> = {
  float32: 'float32',
  float64: 'float64',
  float16: 'float16',
  int64: 'int64',
  uint64: 'int64',
  int32: 'int32',
  uint32: 'int64',
  int16: 'int16',
  uint16: 'int32',
  int8: 'int8',
  uint8: 'uint8',
  bool: 'bool',
};

function bytesOf(data: ArrayBufferView): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
}

function outOf(value: ort.Tensor): Tensor | null {
  const dtype = TYPES[value.type];
  if (dtype === undefined) return null;
  const sizes = [...value.dims];
  const data = value.data as unknown as Uint8Array;
  const isWidened = value.type === 'uint32' || value.type === 'uint16';
  if (!isWidened) return fromBytes(bytesOf(data), sizes, dtype);
  return tensor(Array.from(data, Number), { dtype }).reshape(sizes);
}

async function into(x: Tensor, type: string): Promise<ort.Tensor> {
  const numbers = ((await x.reshape([-1]).toArray()) as (number | boolean)[]).map(Number);
  const make = (data: ort.Tensor.DataType): ort.Tensor =>
    new ort.Tensor(type as ort.Tensor.Type, data, [...x.sizes]);
  switch (type) {
    case 'int64':
      return make(BigInt64Array.from(numbers, BigInt));
    case 'uint64':
      return make(BigUint64Array.from(numbers, (n) => BigInt.asUintN(64, BigInt(n))));
    case 'float16':
      return make(Uint16Array.from(halves(numbers)));
    case 'float64':
      return make(Float64Array.from(numbers));
    case 'int32':
      return make(Int32Array.from(numbers));
    case 'uint32':
      return make(Uint32Array.from(numbers));
    case 'int16':
      return make(Int16Array.from(numbers));
    case 'uint16':
      return make(Uint16Array.from(numbers));
    case 'int8':
      return make(Int8Array.from(numbers));
    case 'uint8':
    case 'bool':
      return make(Uint8Array.from(numbers));
    default:
      return make(Float32Array.from(numbers));
  }
}

/** The bits of float16 numbers. */
function halves(numbers: readonly number[]): number[] {
  return numbers.map((value) => {
    const [f, u] = [new Float32Array([value]), new Uint32Array(1)];
    u[0] = new Uint32Array(f.buffer)[0]!;
    const [sign, exponent] = [(u[0]! >>> 16) & 0x8000, ((u[0]! >>> 23) & 0xff) - 112];
    if (Number.isNaN(value)) return 0x7e00;
    if (exponent >= 31) return sign | 0x7c00;
    if (exponent <= 0) return sign | Math.round(Math.abs(value) * 2 ** 24);
    return sign | (exponent << 10) | ((u[0]! >>> 13) & 0x3ff);
  });
}

/** See the file header. */
export const loadOnnxruntimeWeb: Load = async (file) => {
  ort.env.logLevel = 'fatal';
  const session = await ort.InferenceSession.create(file, { executionProviders: ['wasm'] });
  const types = new Map(
    session.inputMetadata.flatMap((each) => (each.isTensor ? [[each.name, each.type]] : [])),
  );
  return {
    inputNames: session.inputNames,
    async run(inputs) {
      const feeds: Record<string, ort.Tensor> = {};
      for (const [name, x] of Object.entries(inputs))
        feeds[name] = await into(x, types.get(name) ?? x.dtype);
      const results = await session.run(feeds);
      await session.release();
      return session.outputNames.map((name) => outOf(results[name] as ort.Tensor));
    },
  };
};
