/**
 * @file Adaptive average pooling: the input cut into a given number of nearly equal parts.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import {
  type Span,
  adaptiveSpans,
  forEachTap,
  forEachWindow,
} from '../../kernels/pooling-kernel.js';
import { perDimension } from '../../kernels/spatial.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { checkGradient } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { checkPoolParts, checkPoolRank, planesOf, poolMeta, zerosOf } from './shape.js';
import { mean } from '../reduction/reduction.js';
import { squeeze, unsqueeze } from '../view/dims.js';

function defineAdaptive(rank: 2 | 3): OpOverload<Tensor> {
  const op = `adaptive_avg_pool${rank}d`;
  const spansOf = (input: readonly number[], output: readonly number[]): Span[][] =>
    output.map((size, d) => adaptiveSpans(input[d]!, size));
  const count = (spans: readonly Span[]): number =>
    spans.reduce((total, { start, end }) => total * (end - start), 1);
  const forward = defineOp(`aten::_${op}(Tensor self, SymInt[${rank}] output_size) -> Tensor`, {
    tags: ['reduction'],
    meta: ({ self, output_size }) => {
      checkPoolParts(op, rank, self, output_size, -rank);
      return poolMeta(rank, self, [...self.sizes.slice(0, -rank), ...output_size]);
    },
    kernel: ({ self, output_size }, [out]) => {
      const x = readNumbers(self);
      const input = self.sizes.slice(-rank);
      const result = new Float64Array(out!.numel);
      forEachWindow(planesOf(out!, rank), input, spansOf(input, output_size), (o, base, spans) => {
        let total = 0;
        forEachTap(input, spans, (position) => (total += x[base + position]!));
        result[o] = total / count(spans);
      });
      writeNumbers(out!, result);
    },
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => callOp(backward, [grad, self]) }),
  });
  const backward: OpOverload<Tensor> = defineOp(
    `aten::_${op}_backward(Tensor grad_output, Tensor self) -> Tensor`,
    {
      meta: ({ grad_output, self }) => {
        checkGradient(op, grad_output, [
          ...self.sizes.slice(0, -rank),
          ...grad_output.sizes.slice(-rank),
        ]);
        return poolMeta(rank, self, self.sizes);
      },
      kernel: ({ grad_output, self }, [out]) => {
        const grads = readNumbers(grad_output);
        const input = self.sizes.slice(-rank);
        const result = new Float64Array(out!.numel);
        forEachWindow(
          planesOf(out!, rank),
          input,
          spansOf(input, grad_output.sizes.slice(-rank)),
          (o, base, spans) => {
            const share = grads[o]! / count(spans);
            forEachTap(input, spans, (position) => (result[base + position]! += share));
          },
        );
        writeNumbers(out!, result);
      },
      vjp: ({ grad_output, self }, { grad }) => ({
        grad_output: () => callOp(forward, [grad, grad_output.sizes.slice(-rank)]),
        self: () => zerosOf(self),
      }),
    },
  );
  return defineOp(`aten::${op}(Tensor self, SymInt[${rank}] output_size) -> Tensor`, {
    decompose: ({ self, output_size }) => {
      checkPoolRank(op, rank, self);
      const sizes = perDimension(op, 'output_size', output_size, rank);
      // One window over everything is a plain mean.
      if (sizes.every((size) => size === 1))
        return mean(
          self,
          sizes.map((_, i) => -1 - i),
          { keepdim: true },
        );
      return callOp(forward, [self, sizes]);
    },
  });
}

const adaptive2d = defineAdaptive(2);
const adaptive3d = defineAdaptive(3);
const adaptive1d = defineOp(
  'aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor',
  {
    decompose: ({ self, output_size }) =>
      squeeze(callOp(adaptive2d, [unsqueeze(self, -2), [1, output_size[0]!]]), -2),
  },
);

/** Means of [N, C, L] cut into `outputSize` parts. @throws shape-mismatch */
export function adaptiveAvgPool1d(self: Tensor, outputSize: number | readonly number[]): Tensor {
  return callOp(adaptive1d, [
    self,
    perDimension('adaptive_avg_pool1d', 'output_size', outputSize, 1),
  ]);
}

/** Means of [N, C, H, W] cut into a grid of `outputSize` parts. @throws shape-mismatch */
export function adaptiveAvgPool2d(self: Tensor, outputSize: number | readonly number[]): Tensor {
  return callOp(adaptive2d, [
    self,
    perDimension('adaptive_avg_pool2d', 'output_size', outputSize, 2),
  ]);
}

/** Means of [N, C, D, H, W] cut into a grid of `outputSize` parts. @throws shape-mismatch */
export function adaptiveAvgPool3d(self: Tensor, outputSize: number | readonly number[]): Tensor {
  return callOp(adaptive3d, [
    self,
    perDimension('adaptive_avg_pool3d', 'output_size', outputSize, 3),
  ]);
}
