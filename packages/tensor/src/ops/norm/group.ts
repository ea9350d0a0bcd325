/**
 * @file Group norm.
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
import { detach } from '../arrange/copy.js';
import { rsqrt } from '../pointwise/exponential.js';
import { div } from '../pointwise/division.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { pow } from '../pointwise/power.js';
import { mean, sum } from '../reduction/reduction.js';
import { reshape } from '../view/view.js';
import { unsqueeze } from '../view/dims.js';

type Maybe = Tensor | null;

interface Counts {
  readonly input: Tensor;
  /** Of each group, for the backward. */
  readonly mean?: Tensor;
  readonly N: number;
  readonly C: number;
  readonly HxW: number;
  readonly group: number;
}

/** @throws shape-mismatch unless the counts are those of the input, in whole groups */
function checkCounts({ input, N, C, HxW, group, mean }: Counts): void {
  const isWhole = mean === undefined || mean.numel === N * group;
  if (input.numel === N * C * HxW && C % group === 0 && isWhole) return;
  throw new TesseraError(
    'shape-mismatch',
    `Expected X.numel() == N * C * HxW to be true, but got ${input.numel} elements for N=${N}, C=${C}, HxW=${HxW} in ${group} groups`,
    { hints: ['groupNorm() counts them.'] },
  );
}

const groupNormOp = defineOp(
  'aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['reduction'],
    meta: (args) => {
      const { input, weight, bias, N, group } = args;
      checkFloating('group_norm', input);
      checkCounts(args);
      const stat = denseMeta(input, [N, group], statisticsType(input, weight, bias));
      return [denseMeta(input, input.sizes), stat, stat];
    },
    kernel: ({ input, weight, bias, C, HxW: inner, group, eps }, [out, mean_, rstd]) => {
      const x = readNumbers(input);
      const w = weight === null ? null : readNumbers(weight);
      const b = bias === null ? null : readNumbers(bias);
      const length = (C / group) * inner;
      const rows = mean_!.numel;
      const means = new Float64Array(rows);
      const scales = new Float64Array(rows);
      for (let r = 0; r < rows; r++) {
        const row = x.subarray(r * length, (r + 1) * length);
        const average = row.reduce((a, v) => a + v, 0) / length;
        means[r] = average;
        scales[r] = 1 / Math.sqrt(row.reduce((a, v) => a + (v - average) ** 2, 0) / length + eps);
        for (let i = 0; i < length; i++) {
          const channel = Math.floor((r * length + i) / inner) % C;
          row[i] =
            (row[i]! - average) * scales[r]! * (w === null ? 1 : w[channel]!) +
            (b === null ? 0 : b[channel]!);
        }
      }
      writeNumbers(out!, x);
      writeNumbers(mean_!, means);
      writeNumbers(rstd!, scales);
    },
    saved: ['input', 'weight', 'out.1', 'out.2'],
    vjp: ({ input, weight, N, C, HxW, group, eps }, { grad, grads, outs, needs }) => {
      // Gradients of the statistics, or that must themselves be differentiable, are written in primitive ops.
      if (isGradEnabled() || grads[1] != null || grads[2] != null)
        return composedGradient(grad, grads, input, weight, group, () => eps);
      const mask = [needs('input'), needs('weight'), needs('bias')];
      const [dInput, dWeight, dBias] = callOp(backwardOp, [
        grad,
        input,
        outs[1],
        outs[2],
        weight,
        N,
        C,
        HxW,
        group,
        mask,
      ]);
      return {
        input: mask[0] ? dInput! : null,
        weight: mask[1] ? dWeight! : null,
        bias: mask[2] ? dBias! : null,
      };
    },
  },
);

const backwardOp = defineOp(
  'aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['reduction'],
    meta: (args) => {
      const { grad_out, input, weight, C, output_mask: mask } = args;
      checkGradient('group_norm', grad_out, input.sizes);
      checkCounts(args);
      if (input.sizes[1] !== C)
        throw new TesseraError(
          'shape-mismatch',
          `native_group_norm_backward: input of shape ${formatSizes(input.sizes)} does not have ${C} channels`,
          { hints: ['C is the size of dimension 1.'] },
        );
      const part = (wanted: boolean, sizes: readonly number[], dtype?: DType): TensorMeta =>
        denseMeta(input, wanted ? sizes : [0], dtype);
      return [
        part(mask[0]!, input.sizes),
        part(mask[1]!, [C], weight?.dtype),
        part(mask[2]!, [C], weight?.dtype),
      ];
    },
    kernel: (
      {
        grad_out,
        input,
        mean: mean_,
        rstd,
        weight,
        C: channels,
        HxW: inner,
        group,
        output_mask: mask,
      },
      [dInput, dWeight, dBias],
    ) => {
      const g = readNumbers(grad_out);
      const x = readNumbers(input);
      const w = weight === null ? null : readNumbers(weight);
      const means = readNumbers(mean_);
      const scales = readNumbers(rstd);
      const length = (channels / group) * inner;
      const results = new Float64Array(x.length);
      const forWeight = new Float64Array(channels);
      const forBias = new Float64Array(channels);
      for (let r = 0; r < means.length; r++) {
        let total = 0;
        let projected = 0;
        const each = (
          visit: (i: number, normal: number, weighted: number, channel: number) => void,
        ): void => {
          for (let i = r * length; i < (r + 1) * length; i++) {
            const channel = Math.floor(i / inner) % channels;
            visit(
              i,
              (x[i]! - means[r]!) * scales[r]!,
              g[i]! * (w === null ? 1 : w[channel]!),
              channel,
            );
          }
        };
        each((i, normal, weighted, channel) => {
          total += weighted;
          projected += weighted * normal;
          forWeight[channel]! += g[i]! * normal;
          forBias[channel]! += g[i]!;
        });
        each(
          (i, normal, weighted) =>
            (results[i] = scales[r]! * (weighted - total / length - (normal * projected) / length)),
        );
      }
      if (mask[0]) writeNumbers(dInput!, results);
      if (mask[1]) writeNumbers(dWeight!, forWeight);
      if (mask[2]) writeNumbers(dBias!, forBias);
    },
    saved: ['grad_out', 'input', 'rstd', 'weight'],
    // With respect to what the statistics were computed from.
    vjp: ({ grad_out, input, rstd, weight, group }, { grads }) =>
      composedGradients({ grad_out: grad_out, input: input, weight: weight }, grads, (at) => {
        const first = composedGradient(at.grad_out!, [], at.input!, at.weight, group, (variance) =>
          sub(unsqueeze(pow(detach(rstd), -2), -1), detach(variance)),
        );
        return [first.input(), first.weight(), first.bias()];
      }),
  },
);

function composedGradient(
  grad: Tensor,
  grads: readonly (Tensor | null)[],
  x: Tensor,
  weight: Maybe,
  groups: number,
  /** What is added to the variance. */
  eps: (variance: Tensor) => Tensor | number,
): Record<'input' | 'weight' | 'bias', () => Tensor> {
  const [batch, channels] = x.sizes;
  const length = numelOf(x.sizes.slice(1)) / groups;
  const grouped = (value: Tensor): Tensor =>
    reshape(value, [batch, groups, value.numel === batch * groups ? 1 : length]);
  const over = (value: Tensor): Tensor => mean(value, -1, { keepdim: true });
  const centred = sub(grouped(x), over(grouped(x)));
  const variance = over(mul(centred, centred));
  const scale = rsqrt(add(variance, eps(variance)));
  const normal = mul(centred, scale);
  const shaped =
    weight === null ? null : reshape(weight, [1, channels, ...x.sizes.slice(2).map(() => 1)]);
  const weighted = grouped(shaped === null ? grad : mul(grad, shaped));
  const dims = x.sizes.map((_, i) => i).filter((i) => i !== 1);
  const forInput = (): Tensor => {
    let total = mul(
      scale,
      sub(sub(weighted, over(weighted)), mul(normal, over(mul(weighted, normal)))),
    );
    if (grads[1] != null) total = add(total, div(grouped(grads[1]), length));
    if (grads[2] != null)
      total = sub(total, mul(mul(grouped(grads[2]), mul(scale, scale)), div(normal, length)));
    return reshape(total, x.sizes);
  };
  return {
    input: forInput,
    weight: () => sum(mul(grad, reshape(normal, x.sizes)), dims),
    bias: () => sum(grad, dims),
  };
}

const groupNormCompositeOp = defineOp(
  'aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor',
  {
    decompose: ({ input, num_groups, weight, bias, eps }) => {
      const [n, c] = input.sizes;
      if (input.ndim < 2 || c % num_groups !== 0) {
        throw new TesseraError(
          'shape-mismatch',
          `group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape ${formatSizes(input.sizes)} and num_groups=${num_groups}`,
          { hints: ['The input is [N, C, …] with C a multiple of num_groups.'] },
        );
      }
      for (const parameter of [weight, bias])
        if (parameter && !sameNumbers(parameter.sizes, [c]))
          throw new TesseraError(
            'shape-mismatch',
            `group_norm: Expected weight and bias to be of shape [${c}], got ${formatSizes(parameter.sizes)}`,
            { hints: ['Weight and bias have an element for each channel.'] },
          );
      const inner = numelOf(input.sizes.slice(2));
      const operands = [input.contiguous(), weight, bias, n, c, inner, num_groups, eps];
      return callOp(groupNormOp, operands)[0];
    },
  },
);

const GROUP_NORM: OptionNames<{ weight?: Tensor | null; bias?: Tensor | null; eps?: number }> = {
  weight: true,
  bias: true,
  eps: true,
};

/** Normalises groups of channels of [N, C, …]. @throws shape-mismatch @see https://arxiv.org/abs/1803.08494 */
export function groupNorm(
  input: Tensor,
  numGroups: number,
  options?: { weight?: Tensor | null; bias?: Tensor | null; eps?: number },
): Tensor {
  checkOptionNames('groupNorm', options, GROUP_NORM);
  return callOp(groupNormCompositeOp, [
    input,
    numGroups,
    options?.weight ?? null,
    options?.bias ?? null,
    options?.eps ?? 1e-5,
    true,
  ]);
}
