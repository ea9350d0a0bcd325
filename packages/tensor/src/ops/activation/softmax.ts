/**
 * @file softmax and log_softmax.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type DType, isFloatingPoint } from '../../dtype.js';
import { mapRows, rowLayout } from '../../kernels/reduce-kernel.js';
import { type Elements, readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { checkGradient, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { exp } from '../pointwise/exponential.js';
import { mul, neg, sub } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';

/** @throws invalid-dim, dtype-unsupported */
function forwardMeta({ self, dim }: { self: Tensor; dim: number }): TensorMeta {
  if (!isFloatingPoint(self.dtype)) {
    throw new TesseraError('dtype-unsupported', `softmax is not implemented for ${self.dtype}`, {
      hints: ["Pass { dtype: 'float32' }."],
    });
  }
  wrapDim(dim, self.ndim, 'softmax');
  return denseMeta(self);
}

function backwardMeta({
  grad_output,
  output,
  dim,
  input_dtype,
}: {
  grad_output: Tensor;
  output: Tensor;
  dim: number;
  input_dtype: DType;
}): TensorMeta {
  wrapDim(dim, grad_output.ndim, 'softmax backward');
  checkGradient('softmax', grad_output, output.sizes);
  return denseMeta(grad_output, grad_output.sizes, input_dtype);
}

/** exp(x - max) of a row into `results`; returns the sum, or NaN for a row of -∞. */
function exponentials(values: Elements, results: Elements): { top: number; total: number } {
  let top = -Infinity;
  for (const value of values) top = Math.max(top, value);
  let total = 0;
  for (let i = 0; i < values.length; i++) total += results[i] = Math.exp(values[i]! - top);
  return { top, total };
}

const softmaxOp = defineOp('aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor', {
  tags: ['reduction'],
  meta: forwardMeta,
  kernel: ({ self, dim }, outs) =>
    mapRows(self, wrapDim(dim, self.ndim), outs, (values, [results]) => {
      const { total } = exponentials(values, results!);
      for (let i = 0; i < values.length; i++) results![i]! /= total;
    }),
  saved: ['out'],
  vjp: ({ self, dim }, { grad, out }) => ({
    self: () => callOp(softmaxBackwardOp, [grad, out, dim, self.dtype]),
  }),
});
const logSoftmaxOp = defineOp(
  'aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor',
  {
    tags: ['reduction'],
    meta: forwardMeta,
    kernel: ({ self, dim }, outs) =>
      mapRows(self, wrapDim(dim, self.ndim), outs, (values, [results]) => {
        const { top, total } = exponentials(values, results!);
        const shift = top + Math.log(total);
        for (let i = 0; i < values.length; i++) results![i] = values[i]! - shift;
      }),
    saved: ['out'],
    vjp: ({ self, dim }, { grad, out }) => ({
      self: () => callOp(logSoftmaxBackwardOp, [grad, out, dim, self.dtype]),
    }),
  },
);

interface BackwardArgs {
  readonly grad_output: Tensor;
  readonly output: Tensor;
  readonly dim: number;
}

/** Kernel over rows of gradient and output: `fn(g, y, total)` with `total` = Σ weight(g, y). */
function backwardKernel(
  weight: (g: number, y: number) => number,
  fn: (g: number, y: number, total: number) => number,
): (args: BackwardArgs, outs: readonly Tensor[]) => void {
  return ({ grad_output, output, dim }, [out]) => {
    const grads = readNumbers(grad_output);
    const outputs = readNumbers(output);
    const { within, starts } = rowLayout(
      output.sizes,
      output.ndim === 0 ? [] : [wrapDim(dim, output.ndim)],
    );
    const results = new Float64Array(grads.length);
    for (const start of starts) {
      let total = 0;
      for (const step of within) total += weight(grads[start + step]!, outputs[start + step]!);
      for (const step of within)
        results[start + step] = fn(grads[start + step]!, outputs[start + step]!, total);
    }
    writeNumbers(out!, results);
  };
}

/** Sum over the softmax dim, kept. */
function along(x: Tensor, dim: number): Tensor {
  return sum(x, dim, { keepdim: true });
}

const softmaxBackwardOp: OpOverload<Tensor> = defineOp(
  'aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor',
  {
    tags: ['reduction'],
    meta: backwardMeta,
    kernel: backwardKernel(
      (g, y) => g * y,
      (g, y, total) => (g - total) * y,
    ),
    saved: ['grad_output', 'output'],
    vjp: ({ grad_output, output, dim, input_dtype }, { grad }) => ({
      grad_output: () => callOp(softmaxBackwardOp, [grad, output, dim, input_dtype]),
      output: () =>
        sub(
          sub(mul(grad_output, grad), mul(along(mul(output, grad_output), dim), grad)),
          mul(grad_output, along(mul(output, grad), dim)),
        ),
    }),
  },
);
const logSoftmaxBackwardOp: OpOverload<Tensor> = defineOp(
  'aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor',
  {
    tags: ['reduction'],
    meta: backwardMeta,
    kernel: backwardKernel(
      (g) => g,
      (g, y, total) => g - Math.exp(y) * total,
    ),
    saved: ['grad_output', 'output'],
    vjp: ({ grad_output, output, dim }, { grad }) => ({
      grad_output: () => sub(grad, along(mul(grad, exp(output)), dim)),
      output: () => neg(mul(mul(exp(output), along(grad_output, dim)), grad)),
    }),
  },
);

function converted(self: Tensor, dtype: DType | null): Tensor {
  return dtype === null ? self : toDtype(self, dtype);
}

const softmaxIntOp = defineOp(
  'aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self, dim, dtype }) => callOp(softmaxOp, [converted(self, dtype), dim, false]),
  },
);
const logSoftmaxIntOp = defineOp(
  'aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self, dim, dtype }) => callOp(logSoftmaxOp, [converted(self, dtype), dim, false]),
  },
);

const DTYPE: OptionNames<{ dtype?: DType }> = { dtype: true };

/** exp(x) / Σ exp(x) along a dimension. @throws invalid-dim */
export function softmax(self: Tensor, dim: number, options?: { dtype?: DType }): Tensor {
  checkOptionNames('softmax', options, DTYPE);
  return callOp(softmaxIntOp, [self, dim, options?.dtype ?? null]);
}

/** log(softmax(x)) along a dimension, without underflow. @throws invalid-dim */
export function logSoftmax(self: Tensor, dim: number, options?: { dtype?: DType }): Tensor {
  checkOptionNames('logSoftmax', options, DTYPE);
  return callOp(logSoftmaxIntOp, [self, dim, options?.dtype ?? null]);
}
