/**
 * @file Layer norm and RMS norm.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { composedGradients } from '../../autograd/composed-gradient.js';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { checkFloating, statisticsType } from '../../kernels/restrict-dtypes.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { checkGradient, formatSizes, numelOf, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous, detach, toDtype } from '../arrange/copy.js';
import { rsqrt } from '../pointwise/exponential.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { pow } from '../pointwise/power.js';
import { mean, sum } from '../reduction/reduction.js';

/** First normalised dim. @throws shape-mismatch */
function axisOf(
  op: string,
  input: Tensor,
  shape: readonly number[],
  weight: Tensor | null,
  bias: Tensor | null,
): number {
  const axis = input.ndim - shape.length;
  if (shape.length === 0 || axis < 0 || !sameNumbers(input.sizes.slice(axis), shape)) {
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Given normalized_shape=${formatSizes(shape)}, expected input with shape [*, ${shape.join(', ')}], but got input of size ${formatSizes(input.sizes)}`,
      { hints: ['normalized_shape must equal the last dimensions of the input.'] },
    );
  }
  for (const parameter of [weight, bias]) {
    if (parameter !== null && !sameNumbers(parameter.sizes, shape)) {
      throw new TesseraError(
        'shape-mismatch',
        `${op}: Expected weight and bias to be of shape ${formatSizes(shape)}, got ${formatSizes(parameter.sizes)}`,
        { hints: ['Weight and bias have the normalized shape.'] },
      );
    }
  }
  return axis;
}

const layerNormOp = defineOp(
  'aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['reduction'],
    meta: ({ input, normalized_shape, weight, bias }) => {
      checkFloating('layer_norm', input);
      const axis = axisOf('layer_norm', input, normalized_shape, weight, bias);
      const stat = denseMeta(
        input,
        input.sizes.map((size, i) => (i < axis ? size : 1)),
        statisticsType(input, weight, bias),
      );
      return [denseMeta(input, input.sizes), stat, stat];
    },
    kernel: ({ input, normalized_shape, weight, bias, eps }, [out, mean_, rstd]) => {
      const x = readNumbers(input);
      const length = numelOf(normalized_shape);
      const w = weight === null ? null : readNumbers(weight);
      const b = bias === null ? null : readNumbers(bias);
      const rows = mean_!.numel;
      const means = new Float64Array(rows);
      const scales = new Float64Array(rows);
      for (let r = 0; r < rows; r++) {
        const row = x.subarray(r * length, (r + 1) * length);
        const average = row.reduce((a, v) => a + v, 0) / length;
        const variance = row.reduce((a, v) => a + (v - average) ** 2, 0) / length;
        means[r] = average;
        scales[r] = 1 / Math.sqrt(variance + eps);
        for (let i = 0; i < length; i++)
          row[i] =
            (row[i]! - average) * scales[r]! * (w === null ? 1 : w[i]!) + (b === null ? 0 : b[i]!);
      }
      writeNumbers(out!, x);
      writeNumbers(mean_!, means);
      writeNumbers(rstd!, scales);
    },
    saved: ['input', 'weight', 'out.1', 'out.2'],
    constantOutputs: [1, 2],
    vjp: ({ input, normalized_shape, weight, bias, eps }, { grad, outs, needs }) => {
      // A gradient that must itself be differentiable is written in primitive ops.
      if (isGradEnabled())
        return composedGradient(grad, input, normalized_shape, weight, () => eps);
      const mask = [needs('input'), needs('weight'), needs('bias')];
      // The backward op reads only the shape of the bias, which is the weight's.
      const shaped = bias === null ? null : (weight ?? null);
      const [input_, weight_, bias_] = callOp(layerNormBackwardOp, [
        grad,
        input,
        normalized_shape,
        outs[1],
        outs[2],
        weight,
        shaped,
        mask,
      ]);
      return { input: input_!, weight: mask[1] ? weight_! : null, bias: mask[2] ? bias_! : null };
    },
  },
);

const layerNormBackwardOp = defineOp(
  'aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['reduction'],
    meta: ({ grad_out, input, normalized_shape, weight, bias, output_mask: mask }) => {
      axisOf('native_layer_norm_backward', input, normalized_shape, weight, bias);
      checkGradient('layer_norm', grad_out, input.sizes);
      const part = (wanted: boolean, sizes: readonly number[], dtype?: DType): TensorMeta =>
        denseMeta(input, wanted ? sizes : [0], dtype);
      return [
        part(mask[0]!, input.sizes),
        part(mask[1]!, normalized_shape, weight?.dtype),
        part(mask[2]!, normalized_shape, weight?.dtype),
      ];
    },
    kernel: (
      { grad_out, input, normalized_shape, mean: mean_, rstd, weight, output_mask: mask },
      [dInput, dWeight, dBias],
    ) => {
      const g = readNumbers(grad_out);
      const x = readNumbers(input);
      const w = weight === null ? null : readNumbers(weight);
      const means = readNumbers(mean_);
      const scales = readNumbers(rstd);
      const length = numelOf(normalized_shape);
      const results = new Float64Array(x.length);
      const forWeight = new Float64Array(length);
      const forBias = new Float64Array(length);
      for (let r = 0; r < means.length; r++) {
        const at = r * length;
        let total = 0;
        let projected = 0;
        for (let i = 0; i < length; i++) {
          const normal = (x[at + i]! - means[r]!) * scales[r]!;
          const weighted = g[at + i]! * (w === null ? 1 : w[i]!);
          total += weighted;
          projected += weighted * normal;
          forWeight[i]! += g[at + i]! * normal;
          forBias[i]! += g[at + i]!;
        }
        for (let i = 0; i < length; i++) {
          const normal = (x[at + i]! - means[r]!) * scales[r]!;
          const weighted = g[at + i]! * (w === null ? 1 : w[i]!);
          results[at + i] =
            scales[r]! * (weighted - total / length - (normal * projected) / length);
        }
      }
      if (mask[0]) writeNumbers(dInput!, results);
      if (mask[1]) writeNumbers(dWeight!, forWeight);
      if (mask[2]) writeNumbers(dBias!, forBias);
    },
    saved: ['grad_out', 'input', 'rstd', 'weight'],
    // With respect to what the statistics were computed from, as PyTorch's layer_norm_double_backward.
    vjp: ({ grad_out, input, normalized_shape, rstd, weight }, { grads }) =>
      composedGradients({ grad_out: grad_out, input: input, weight: weight }, grads, (at) => {
        const first = composedGradient(
          at.grad_out!,
          at.input!,
          normalized_shape,
          at.weight,
          (variance) => sub(pow(detach(rstd), -2), detach(variance)),
        );
        return [first.input(), first.weight(), first.bias()];
      }),
  },
);

function composedGradient(
  grad: Tensor,
  x: Tensor,
  shape: readonly number[],
  weight: Tensor | null,
  /** What is added to the variance. */
  eps: (variance: Tensor) => Tensor | number,
): Record<'input' | 'weight' | 'bias', () => Tensor> {
  const axis = x.ndim - shape.length;
  const inner = x.sizes.map((_, i) => i).slice(axis);
  const outer = x.sizes.map((_, i) => i).slice(0, axis);
  const over = (value: Tensor): Tensor => mean(value, inner, { keepdim: true });
  const centred = sub(x, over(x));
  const variance = over(mul(centred, centred));
  const scale = rsqrt(add(variance, eps(variance)));
  const normal = mul(centred, scale);
  const weighted = weight === null ? grad : mul(grad, weight);
  const reduced = (value: Tensor): Tensor => (outer.length === 0 ? value : sum(value, outer));
  return {
    input: () =>
      mul(scale, sub(sub(weighted, over(weighted)), mul(normal, over(mul(weighted, normal))))),
    weight: () => reduced(mul(grad, normal)),
    bias: () => reduced(grad),
  };
}

const layerNormCompositeOp = defineOp(
  'aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor',
  {
    decompose: ({ input, normalized_shape, weight, bias, eps }) =>
      callOp(layerNormOp, [input, normalized_shape, weight, bias, eps])[0],
  },
);

/** Distance from 1 to the next number of a dtype. */
const EPSILON: Partial<Record<DType, number>> = {
  float64: 2 ** -52,
  float32: 2 ** -23,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

const rmsNormOp = defineOp(
  'aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor',
  {
    decompose: ({ input, normalized_shape: shape, weight, eps }) => {
      const x = contiguous(input);
      const axis = axisOf('rms_norm', x, shape, weight, null);
      const wide = x.dtype === 'float16' || x.dtype === 'bfloat16' ? toDtype(x, 'float32') : x;
      const inner = x.sizes.map((_, i) => i).slice(axis);
      const scale = rsqrt(
        add(mean(mul(wide, wide), inner, { keepdim: true }), eps ?? EPSILON[wide.dtype]!),
      );
      const normal = mul(wide, scale);
      const result = weight === null ? normal : mul(normal, weight);
      return result.dtype === x.dtype ? result : toDtype(result, x.dtype);
    },
  },
);

/** Parameters of `layerNorm`. */
export interface LayerNormOptions {
  readonly weight?: Tensor | null;
  readonly bias?: Tensor | null;
  readonly eps?: number;
}
const LAYER_NORM: OptionNames<LayerNormOptions> = { weight: true, bias: true, eps: true };

/** Normalises the last dimensions to mean 0 and variance 1, then scales and shifts. @throws shape-mismatch @see https://arxiv.org/abs/1607.06450 */
export function layerNorm(
  input: Tensor,
  normalizedShape: readonly number[],
  options?: LayerNormOptions,
): Tensor {
  checkOptionNames('layerNorm', options, LAYER_NORM);
  return callOp(layerNormCompositeOp, [
    input,
    normalizedShape,
    options?.weight ?? null,
    options?.bias ?? null,
    options?.eps ?? 1e-5,
    true,
  ]);
}

const WEIGHT_EPS: OptionNames<{ weight?: Tensor | null; eps?: number | null }> = {
  weight: true,
  eps: true,
};

/** Divides by the root mean square of the last dimensions, then scales. @throws shape-mismatch @see https://arxiv.org/abs/1910.07467 */
export function rmsNorm(
  input: Tensor,
  normalizedShape: readonly number[],
  options?: { weight?: Tensor | null; eps?: number | null },
): Tensor {
  checkOptionNames('rmsNorm', options, WEIGHT_EPS);
  return callOp(rmsNormOp, [input, normalizedShape, options?.weight ?? null, options?.eps ?? null]);
}

/** Layer norm with its row means and reciprocal deviations, as the autograd of other libraries needs them. */
export function nativeLayerNorm(
  input: Tensor,
  normalizedShape: readonly number[],
  weight: Tensor | null,
  bias: Tensor | null,
  eps: number,
): [output: Tensor, mean: Tensor, rstd: Tensor] {
  return callOp(layerNormOp, [input, normalizedShape, weight, bias, eps]);
}
