/**
 * @file Runs recorded from PyTorch: initial weights, inputs and losses (see scripts/extract-training-data.mjs).
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type DType, type Tensor, fromBytes, toDtype } from '@tessera/tensor';

interface Entry {
  readonly dtype: string;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

const DTYPES: Readonly<Record<string, DType>> = { F32: 'float32', I64: 'int64', U8: 'uint8' };

function read(name: string): Map<string, Tensor> {
  const bytes = gunzipSync(readFileSync(new URL(`data/${name}`, import.meta.url)));
  const headerBytes = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + headerBytes).toString('utf8')) as Record<string, Entry>;
  return new Map(
    Object.entries(header).map(([key, { dtype, shape, data_offsets: [start, end] }]) => [key, fromBytes(new Uint8Array(bytes.subarray(8 + headerBytes + start, 8 + headerBytes + end)), shape, DTYPES[dtype]!)]),
  );
}

const tensors = read('models.safetensors.gz');

/** What was recorded of each model. */
export const recorded = JSON.parse(readFileSync(new URL('data/models.json', import.meta.url), 'utf8')) as {
  readonly conv_bn_eval: { readonly loss: number };
  readonly conv_bn_train: { readonly losses: readonly number[] };
  readonly digits_mlp: { readonly losses: readonly number[] };
  readonly digits_cnn: { readonly losses: readonly number[] };
};

/** One recorded tensor. */
export function recordedTensor(name: string): Tensor {
  return tensors.get(name)!;
}

/** Initial weights of a model. */
export function initialState(model: string): Record<string, Tensor> {
  const prefix = `${model}/state/`;
  return Object.fromEntries([...tensors].filter(([name]) => name.startsWith(prefix)).map(([name, tensor]) => [name.slice(prefix.length), tensor]));
}

/** Training batch number `index`: images / 16 as [100, 1, 8, 8] and labels. */
export function digitBatch(index: number): { readonly images: Tensor; readonly labels: Tensor } {
  const start = (index % 15) * 100;
  const images = tensors.get('images_u8')!.narrow(0, start, 100);
  return {
    images: toDtype(images, 'float32').div(16).reshape([100, 1, 8, 8]),
    labels: toDtype(tensors.get('labels')!.narrow(0, start, 100), 'int64'),
  };
}
