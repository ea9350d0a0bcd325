/** @file Products of three factors, of which two are summed away: `bilinear`. */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { add } from '../pointwise/arithmetic.js';
import { squeeze, unsqueeze } from '../view/dims.js';
import { reshape } from '../view/view.js';
import { sumProductPair } from './sum-product.js';

/** `tensor` with dimensions of size 1 inserted at `dims`, ascending. */
function inserted(tensor: Tensor, dims: readonly number[]): Tensor {
  return [...dims].sort((a, b) => a - b).reduce((x, dim) => unsqueeze(x, dim), tensor);
}

const trilinearOp = defineOp(
  'aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor',
  {
    decompose: ({ i1, i2, i3, expand1, expand2, expand3, sumdim: over }) => {
      const [a, b, c] = [inserted(i1, expand1), inserted(i2, expand2), inserted(i3, expand3)];
      // Dimensions that the third factor lacks are summed with the first product.
      const early = over.filter((dim) => expand3.includes(dim));
      const late = over.filter((dim) => !early.includes(dim));
      const result = sumProductPair(sumProductPair(a, b, early), c, late);
      return contiguous(over.length === 0 ? result : squeeze(result, over));
    },
  },
);

const bilinearOp = defineOp(
  'aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor',
  {
    decompose: ({ input1: a, input2: b, weight: w, bias }) => {
      checkBilinear(a, b, w, bias);
      const lead = a.sizes.slice(0, -1);
      const rows = numelOf(lead);
      const result = callOp(trilinearOp, [
        reshape(a, [rows, a.sizes.at(-1)!]),
        w,
        reshape(b, [rows, b.sizes.at(-1)!]),
        [1, 3],
        [0],
        [1, 2],
        [2, 3],
        1,
      ]);
      const shaped = reshape(result, [...lead, w.sizes[0]!]);
      return bias === null ? shaped : add(shaped, bias);
    },
  },
);

/** @throws shape-mismatch, dtype-mismatch */
function checkBilinear(a: Tensor, b: Tensor, w: Tensor, bias: Tensor | null): void {
  const fits =
    a.ndim >= 1 &&
    a.ndim === b.ndim &&
    a.sizes.slice(0, -1).every((size, i) => size === b.sizes[i]) &&
    w.ndim === 3 &&
    a.sizes.at(-1) === w.sizes[1] &&
    b.sizes.at(-1) === w.sizes[2] &&
    (bias === null || (bias.ndim === 1 && bias.sizes[0] === w.sizes[0]));
  const others = bias === null ? [b, w] : [b, w, bias];
  if (others.some(({ dtype }) => dtype !== a.dtype))
    throw new TesseraError(
      'dtype-mismatch',
      `All tensors must have the same dtype, got input1: ${a.dtype}, input2: ${b.dtype}, weight: ${w.dtype}${bias === null ? '' : `, bias: ${bias.dtype}`}`,
      { hints: [`Convert the others: x.to('${a.dtype}').`] },
    );
  if (fits) return;
  throw new TesseraError(
    'shape-mismatch',
    `bilinear(): input1 ${formatSizes(a.sizes)}, input2 ${formatSizes(b.sizes)}, weight ${formatSizes(w.sizes)} and bias ${bias === null ? 'none' : formatSizes(bias.sizes)} do not fit: input dimensions and sizes do not match`,
    { hints: ['Shapes are [..., in1], [..., in2], [out, in1, in2] and [out].'] },
  );
}

/** input1ᵀ · weight[o] · input2 + bias[o]: [..., I], [..., J], [O, I, J] → [..., O]. @throws shape-mismatch */
export function bilinear(
  input1: Tensor,
  input2: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
): Tensor {
  return callOp(bilinearOp, [input1, input2, weight, bias]);
}
