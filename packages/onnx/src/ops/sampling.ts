/**
 * @file Images at positions that a tensor gives.
 */
import { type Tensor, linspace, matmul, ones, stack, where } from '@tessera/tensor';
import { gridSample } from '@tessera/tensor/internal';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { product, range } from './like.js';

const MODES = {
  linear: 'bilinear',
  bilinear: 'bilinear',
  nearest: 'nearest',
  cubic: 'bicubic',
  bicubic: 'bicubic',
} as const;

export function sample(call: NodeCall): Tensor {
  const mode = call.text('mode', call.opset < 20 ? 'bilinear' : 'linear');
  const places = call.tensor(1);
  // The standard says nothing of places that are no numbers: onnxruntime takes the first.
  const somewhere = where(places.isfinite(), places, -1);
  return gridSample(call.tensor(0), somewhere, {
    mode: MODES[mode as keyof typeof MODES] ?? call.fail(`mode '${mode}'`),
    paddingMode: call.choice('padding_mode', ['zeros', 'border', 'reflection'], 'zeros'),
    alignCorners: call.flag('align_corners'),
  });
}

/** Positions of the elements of an image after an affine map: θ [N, R, R + 1] → [N, …, R]. */
function affineGrid(call: NodeCall): Tensor {
  const theta = call.tensor(0);
  const [batch, , ...sizes] = call.numbers(1);
  const rank = sizes.length;
  const corners = call.flag('align_corners');
  const on = { dtype: theta.dtype, device: call.device };
  const axes = sizes.map((size, i) => {
    const edge = corners ? 1 : 1 - 1 / size;
    const shape = range(rank).map((dim) => (dim === i ? size : 1));
    // A single element lies at the end, as in onnxruntime: the definition divides by zero there.
    return linspace(size === 1 && corners ? edge : -edge, edge, size, on)
      .reshape(shape)
      .expand(sizes);
  });
  // x comes first, which is the last dimension; and a one for what is added.
  const points = stack([...axes.reverse(), ones(sizes, on)], -1).reshape([
    product(sizes),
    rank + 1,
  ]);
  return matmul(points, theta.transpose(1, 2)).reshape([batch, ...sizes, rank]);
}

/** Operators of the standard domain. */
export const sampling: OperatorTable = { GridSample: sample, AffineGrid: affineGrid };
