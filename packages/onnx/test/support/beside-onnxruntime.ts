/**
 * @file One node of the `com.microsoft` domain, run here and by onnxruntime.
 */
import type { Tensor as OrtTensor } from 'onnxruntime-node';
import { type DType, type Tensor, isTensor, tensor } from '@tessera/tensor';
import { importOnnx } from '../../src/index.js';
import { type Attributes, type NodeSpec, model, value } from './build-model.js';
import type { TensorProto } from '../../src/generated/onnx_pb.js';

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
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
};

const ARRAYS = {
  float32: Float32Array,
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  bool: Uint8Array,
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
  /** Version of the operators of that domain. */
  readonly domainVersion?: number;
  /** Of the standard operators; 17 if absent. */
  readonly opset?: number;
  /** How far floats may be from those of onnxruntime, whose own differ between processors; 2e-5 if absent. */
  readonly tolerance?: number;
  /** How many outputs say something everywhere (a cache with room has old numbers behind); default all. */
  readonly compared?: number;
  /**
   * The same in standard operators, from in0, in1, … to out0, …: what onnxruntime runs where its CPU has no kernel
   * for the operator.
   */
  readonly instead?: { readonly nodes: readonly NodeSpec[]; readonly constants?: TensorProto[] };
}

/** The file of a node, or of what stands for it. */
export function fileOf(
  {
    op,
    inputs,
    attributes = {},
    outputs = ['float32'],
    domain,
    domainVersion,
    opset = 17,
  }: Contrib,
  instead?: Contrib['instead'],
): Uint8Array {
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
      nodes: instead?.nodes ?? [{ op, in: names, out: results, domain: own, attributes }],
      initializers: instead?.constants ?? [],
    },
    opset,
    domainVersion === undefined ? ['com.microsoft'] : [[own, domainVersion]],
  );
}

function ortTensor(ort: typeof import('onnxruntime-node'), x: Numbers): OrtTensor {
  const data =
    x.dtype === 'int64'
      ? BigInt64Array.from(x.data.map(BigInt))
      : ARRAYS[x.dtype as keyof typeof ARRAYS].from(x.data);
  return new ort.Tensor(x.dtype as 'float32', data as Float32Array, [...x.dims]);
}

/** The inputs of a node by name. */
export function inputsOf({ inputs }: Contrib): Record<string, Tensor> {
  return Object.fromEntries(
    inputs.flatMap((input, i) =>
      input === null
        ? []
        : [[`in${i}`, tensor([...input.data], { dtype: input.dtype }).reshape([...input.dims])]],
    ),
  );
}

/** Outputs by name, flat, with sizes in front. */
export function resultsOf(outputs: Readonly<Record<string, unknown>>): Record<string, Result> {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, x]) => {
      if (!isTensor(x)) throw new Error(`${name} is no tensor`);
      const data = x.detach().reshape([-1]).toArray() as (number | boolean)[];
      return [name, { dims: [...x.sizes], data: data.map(Number) }];
    }),
  );
}

/** Outputs here and there, by name. */
export async function besideOnnxruntime(
  contrib: Contrib,
): Promise<{ ours: Record<string, Result>; theirs: Record<string, Result> }> {
  const ort = await import('onnxruntime-node');
  const session = await ort.InferenceSession.create(fileOf(contrib, contrib.instead), {
    logSeverityLevel: 4,
  });
  const feeds: Record<string, OrtTensor> = {};
  contrib.inputs.forEach((input, i) => {
    if (input !== null) feeds[`in${i}`] = ortTensor(ort, input);
  });
  const theirs = Object.fromEntries(
    Object.entries(await session.run(feeds)).map(([name, x]) => [
      name,
      { dims: [...x.dims], data: Array.from(x.data as Float32Array, Number) },
    ]),
  );
  const model = await importOnnx(fileOf(contrib));
  return { ours: resultsOf(model.call(inputsOf(contrib))), theirs };
}

/** Sizes and numbers of an output. */
export interface Result {
  readonly dims: readonly number[];
  readonly data: readonly number[];
}
