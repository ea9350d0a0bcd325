/**
 * @file One node of the `com.microsoft` domain, run here and by onnxruntime.
 */
import type { Tensor as OrtTensor } from 'onnxruntime-node';
import { type DType, type Tensor, isTensor, tensor } from '@tessera/tensor';
import { importOnnx } from '../../src/index.js';
import { type Attributes, model, value } from './build-model.js';

/** Numbers with a type and sizes. */
export interface Numbers {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly data: readonly number[];
}

const ELEMENT: Partial<Record<DType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
};

const ARRAYS = {
  float32: Float32Array,
  uint8: Uint8Array,
  int8: Int8Array,
  int32: Int32Array,
} as const;

const numelOf = (dims: readonly number[]): number => dims.reduce((a, b) => a * b, 1);

/** Floats without a pattern, the same every time. */
export function noise(dims: readonly number[], seed: number): Numbers {
  const data = Array.from({ length: numelOf(dims) }, (_, i) => Math.sin(seed + i * 12.9898) * 0.9);
  return { dtype: 'float32', dims, data: data.map(Math.fround) };
}

/** Whole numbers without a pattern from low on, less than high. */
export function whole(
  dtype: 'uint8' | 'int8' | 'int32',
  dims: readonly number[],
  [low, high]: readonly [number, number],
  seed: number,
): Numbers {
  const { data } = noise(dims, seed);
  return {
    dtype,
    dims,
    data: data.map((x) => low + Math.floor(((x + 1) / 2) * (high - low))),
  };
}

/** Given numbers. */
export function given(dtype: DType, dims: readonly number[], data: readonly number[]): Numbers {
  return { dtype, dims, data };
}

/** A node: null for inputs that are left out. */
export interface Contrib {
  readonly op: string;
  readonly inputs: readonly (Numbers | null)[];
  readonly attributes?: Attributes;
  /** Types of the outputs; null for those that are not asked for. */
  readonly outputs?: readonly (DType | null)[];
  readonly domain?: string;
  /** How many outputs say something everywhere (a cache with room has old numbers behind); default all. */
  readonly compared?: number;
}

function file({ op, inputs, attributes = {}, outputs = ['float32'], domain }: Contrib): Uint8Array {
  const own = domain ?? 'com.microsoft';
  const names = inputs.map((input, i) => (input === null ? '' : `in${i}`));
  const results = outputs.map((dtype, i) => (dtype === null ? '' : `out${i}`));
  return model(
    {
      inputs: inputs.flatMap((input, i) =>
        input === null ? [] : [value(names[i]!, input.dims, ELEMENT[input.dtype]!)],
      ),
      outputs: outputs.flatMap((dtype, i) =>
        dtype === null ? [] : [{ ...value(results[i]!, [], ELEMENT[dtype]!) }],
      ),
      nodes: [{ op, in: names, out: results, domain: own, attributes }],
    },
    17,
    ['com.microsoft'],
  );
}

function ortTensor(ort: typeof import('onnxruntime-node'), x: Numbers): OrtTensor {
  const data =
    x.dtype === 'int64'
      ? BigInt64Array.from(x.data.map(BigInt))
      : ARRAYS[x.dtype as keyof typeof ARRAYS].from(x.data);
  return new ort.Tensor(x.dtype as 'float32', data as Float32Array, [...x.dims]);
}

/** Outputs here and there, by name, flat, with sizes in front. */
export async function besideOnnxruntime(
  contrib: Contrib,
): Promise<{ ours: Record<string, Result>; theirs: Record<string, Result> }> {
  const ort = await import('onnxruntime-node');
  const bytes = file(contrib);
  const session = await ort.InferenceSession.create(bytes, { logSeverityLevel: 4 });
  const feeds: Record<string, OrtTensor> = {};
  const named: Record<string, Tensor> = {};
  contrib.inputs.forEach((input, i) => {
    if (input === null) return;
    feeds[`in${i}`] = ortTensor(ort, input);
    named[`in${i}`] = tensor([...input.data], { dtype: input.dtype }).reshape([...input.dims]);
  });
  const theirs = Object.fromEntries(
    Object.entries(await session.run(feeds)).map(([name, x]) => [
      name,
      { dims: [...x.dims], data: Array.from(x.data as Float32Array, Number) },
    ]),
  );
  const ours = Object.fromEntries(
    Object.entries((await importOnnx(bytes)).call(named)).map(([name, x]) => {
      if (!isTensor(x)) throw new Error(`${name} is no tensor`);
      return [name, { dims: [...x.sizes], data: x.reshape([-1]).toArray() as number[] }];
    }),
  );
  return { ours, theirs };
}

/** Sizes and numbers of an output. */
export interface Result {
  readonly dims: readonly number[];
  readonly data: readonly number[];
}
