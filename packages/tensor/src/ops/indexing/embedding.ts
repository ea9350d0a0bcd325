/**
 * @file Rows of a table by their numbers: no method of tensors, as in PyTorch.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkIndexType, strictIndex } from '../../kernels/coordinates.js';
import { floatsInPlace, readNumbers, writeNumbers } from '../../kernels/elements.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { checkGradient, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { maskedFill } from '../pointwise/fill.js';
import { unsqueeze } from '../view/dims.js';
import { reshape } from '../view/view.js';
import { indexSelect } from './select.js';

const embeddingOp = defineOp(
  'aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor',
  {
    meta: ({ weight, indices }) => {
      checkIndexType('embedding', indices.dtype);
      if (weight.ndim !== 2)
        throw new TesseraError(
          'shape-mismatch',
          `embedding: 'weight' must be 2-D, got ${formatSizes(weight.sizes)}`,
          { hints: ['The weight is [number of embeddings, size].'] },
        );
      const sizes = [...indices.sizes, weight.sizes[1]];
      return denseMeta(weight, sizes);
    },
    kernel: ({ weight, indices }, [out]) => {
      if (out!.numel === 0) return;
      const [rows, width] = weight.sizes;
      const values = readNumbers(weight);
      const result = new Float64Array(out!.numel);
      readNumbers(indices).forEach((row, i) => {
        const from = strictIndex(row, rows, 'embedding') * width;
        result.set(values.subarray(from, from + width), i * width);
      });
      writeNumbers(out!, result);
    },
    saved: ['indices'],
    vjp: ({ weight, indices, padding_idx, scale_grad_by_freq }, { grad }) => ({
      weight: () =>
        callOp(embeddingBackwardOp, [
          grad,
          indices,
          weight.sizes[0],
          padding_idx,
          scale_grad_by_freq,
        ]),
    }),
  },
);

const embeddingBackwardOp: OpOverload<Tensor> = defineOp(
  'aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor',
  {
    meta: ({ grad_output, indices, num_weights }) => {
      const width = grad_output.sizes.at(-1) ?? 1;
      checkGradient('embedding', grad_output, [...indices.sizes, width]);
      return denseMeta(grad_output, [num_weights, width]);
    },
    kernel: ({ grad_output, indices, num_weights, padding_idx, scale_grad_by_freq }, [out]) => {
      const width = out!.sizes[1]!;
      const grads = floatsInPlace(grad_output) ?? readNumbers(grad_output);
      const rows = readNumbers(indices);
      const counts = new Float64Array(num_weights);
      for (const row of rows) counts[row]!++;
      // The table is large and few of its rows are named: those alone are touched.
      const direct = floatsInPlace(out!);
      const result = direct?.fill(0) ?? new Float64Array(out!.numel);
      rows.forEach((row, i) => {
        if (row === padding_idx) return;
        const share = scale_grad_by_freq === true ? counts[row]! : 1;
        for (let j = 0; j < width; j++) result[row * width + j]! += grads[i * width + j]! / share;
      });
      if (direct === null) writeNumbers(out!, result);
    },
    saved: ['indices'],
    vjp: ({ grad_output, indices, padding_idx }, { grad }) => ({
      grad_output: () => {
        const picked = reshape(indexSelect(grad, 0, reshape(indices, [-1])), grad_output.sizes);
        return padding_idx < 0
          ? picked
          : maskedFill(picked, unsqueeze(eq(indices, padding_idx), -1), 0);
      },
    }),
  },
);

const PADDING_IDX_SCALE_GRAD_BY_FREQ: OptionNames<{
  paddingIdx?: number;
  scaleGradByFreq?: boolean;
}> = { paddingIdx: true, scaleGradByFreq: true };

/** Rows of a [V, D] table: indices […] → […, D]. Rows of `paddingIdx` get no gradient. @throws index-out-of-range */
export function embedding(
  weight: Tensor,
  indices: Tensor,
  options?: { paddingIdx?: number; scaleGradByFreq?: boolean },
): Tensor {
  checkOptionNames('embedding', options, PADDING_IDX_SCALE_GRAD_BY_FREQ);
  return callOp(embeddingOp, [
    weight,
    indices,
    options?.paddingIdx ?? -1,
    options?.scaleGradByFreq ?? false,
    false,
  ]);
}
