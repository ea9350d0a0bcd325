/**
 * @file Runs recorded from PyTorch: initial weights, inputs and losses (see scripts/extract-training-data.mjs).
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Tensor, parseSafetensors } from '@tessera/tensor';
import { toDtype } from '@tessera/tensor/internal';

const tensors = parseSafetensors(
  gunzipSync(readFileSync(new URL('data/models.safetensors.gz', import.meta.url))),
);

/** What was recorded of each model. */
export const recorded = JSON.parse(
  readFileSync(new URL('data/models.json', import.meta.url), 'utf8'),
) as {
  readonly conv_bn_eval: { readonly loss: number };
  readonly conv_bn_train: { readonly losses: readonly number[] };
  readonly digits_mlp: { readonly losses: readonly number[] };
  readonly digits_cnn: { readonly losses: readonly number[] };
};

/** One recorded tensor. */
export function recordedTensor(name: string): Tensor {
  return tensors[name]!;
}

/** Initial weights of a model. */
export function initialState(model: string): Record<string, Tensor> {
  const prefix = `${model}/state/`;
  return Object.fromEntries(
    Object.entries(tensors)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, tensor]) => [name.slice(prefix.length), tensor]),
  );
}

/** Training batch number `index`: images / 16 as [100, 1, 8, 8] and labels. */
export function digitBatch(index: number): { readonly images: Tensor; readonly labels: Tensor } {
  const start = (index % 15) * 100;
  const images = tensors.images_u8!.narrow(0, start, 100);
  return {
    images: toDtype(images, 'float32').div(16).reshape([100, 1, 8, 8]),
    labels: toDtype(tensors.labels!.narrow(0, start, 100), 'int64'),
  };
}
