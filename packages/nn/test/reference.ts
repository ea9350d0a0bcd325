/**
 * @file What PyTorch computed for layers, optimizers and schedules (data/reference.py).
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { type DType, type Tensor, fromTypedArray } from '@tessera/tensor';

/** A recorded tensor. */
export interface Recorded {
  readonly shape: number[];
  readonly dtype: string;
  readonly values: number[];
}

/** A training run of an optimizer over two parameters. */
export interface OptimizerCase {
  readonly options: Record<string, unknown>;
  readonly start: Recorded[];
  readonly grads: Recorded[][];
  readonly after: Recorded[][];
  readonly state: Record<string, Recorded>;
}

/** One forward and backward of a module. */
export interface LayerCase {
  readonly kind: string;
  readonly args: unknown[];
  readonly train: boolean;
  readonly state: Record<string, Recorded>;
  readonly inputs: Recorded[];
  readonly output: Recorded;
  readonly cotangent: Recorded;
  readonly inputGrads: (Recorded | null)[];
  readonly grads: Record<string, Recorded>;
  readonly buffers: Record<string, Recorded>;
}

/** Gradients before and after clipping. */
export interface ClipCase {
  readonly grads: Recorded[];
  readonly total: number | null;
  readonly after: Recorded[];
}

interface Reference {
  readonly optimizers: Readonly<
    Record<'SGD' | 'Adam' | 'AdamW' | 'RMSprop' | 'Adagrad', OptimizerCase[]>
  >;
  readonly schedules: Readonly<
    Record<
      'StepLR' | 'CosineAnnealingLR' | 'LinearLR' | 'LambdaLR',
      { readonly options: Record<string, number>; readonly rates: number[][] }[]
    >
  >;
  readonly layers: LayerCase[];
  readonly functional: {
    readonly attention: {
      readonly q: Recorded;
      readonly k: Recorded;
      readonly v: Recorded;
      readonly mask: Recorded | null;
      readonly causal: boolean;
      readonly output: Recorded;
    }[];
    readonly normalize: { readonly x: Recorded; readonly p2: Recorded; readonly p1: Recorded };
    readonly pad: {
      readonly x: Recorded;
      readonly constant: Recorded;
      readonly negative: Recorded;
    };
    readonly oneHot: { readonly x: number[]; readonly output: Recorded };
  };
  readonly clip: Readonly<Record<'norm' | 'normInf' | 'normLoose' | 'value', ClipCase>>;
}

/** Everything recorded. */
export const reference: Reference = JSON.parse(
  gunzipSync(readFileSync(new URL('data/reference.json.gz', import.meta.url))).toString('utf8'),
) as Reference;

/** A recorded tensor as a tensor. */
export function restore(recorded: Recorded): Tensor {
  return fromTypedArray(Float64Array.from(recorded.values), recorded.shape, {
    dtype: recorded.dtype as DType,
  });
}

/** Asserts shape, dtype and values, within PyTorch's tolerances for float32. */
export function expectRecorded(
  actual: Tensor,
  recorded: Recorded,
  name: string,
  relative = 1.3e-6,
  absolute = 1e-5,
): void {
  expect([actual.dtype, ...actual.sizes], name).toEqual([recorded.dtype, ...recorded.shape]);
  const values = Array.from(
    actual.detach().contiguous().toTypedArray() as ArrayLike<number | bigint>,
    Number,
  );
  values.forEach((value, i) => {
    const expected = recorded.values[i]!;
    if (!(Math.abs(value - expected) <= absolute + relative * Math.abs(expected)))
      expect.fail(`${name}[${i}]: ${value}, PyTorch has ${expected}`);
  });
}
