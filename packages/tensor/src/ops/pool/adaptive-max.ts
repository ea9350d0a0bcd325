/**
 * @file Adaptive max pooling: the largest element of each of a given number of nearly equal parts.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { adaptiveSpans, forEachTap, forEachWindow } from '../../kernels/pooling-kernel.js';
import { perDimension } from '../../kernels/spatial.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { checkGradient, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { checkPoolParts, planesOf, poolMeta, zerosOf } from './shape.js';
import { gather } from '../indexing/scatter.js';
import { reshape } from '../view/view.js';
import { squeeze, unsqueeze } from '../view/dims.js';

function define(rank: 2 | 3): OpOverload<[Tensor, Tensor]> {
  const op = `adaptive_max_pool${rank}d`;
  const forward = defineOp(
    `aten::${op}(Tensor self, int[${rank}] output_size) -> (Tensor, Tensor)`,
    {
      tags: ['reduction'],
      meta: ({ self: x, output_size }) => {
        checkPoolParts(op, rank, x, output_size, 1);
        const sizes = [...x.sizes.slice(0, -rank), ...output_size];
        // Of images, the layout is kept; volumes come out contiguous.
        const meta = poolMeta(rank, x, sizes);
        return [meta, { ...meta, dtype: 'int64' }];
      },
      kernel: ({ self, output_size }, [out, indices]) => {
        const x = readNumbers(self);
        const input = self.sizes.slice(-rank);
        const values = new Float64Array(out!.numel);
        const positions = new Float64Array(out!.numel);
        const spans = output_size.map((size, d) => adaptiveSpans(input[d]!, size));
        forEachWindow(planesOf(out!, rank), input, spans, (o, base, window) => {
          let best = -Infinity;
          let at = -1;
          forEachTap(input, window, (position) => {
            const value = x[base + position]!;
            // NaN wins, and then the last one; an all -∞ window keeps its first position.
            if (at < 0 || value > best || Number.isNaN(value)) {
              best = value;
              at = position;
            }
          });
          values[o] = best;
          positions[o] = at;
        });
        writeNumbers(out!, values);
        writeNumbers(indices!, positions);
      },
      saved: ['self', 'out.1'],
      vjp: ({ self }, { grad, outs }) => ({
        self: () => callOp(backward, [grad, self, outs[1]]),
      }),
    },
  );
  const backward: OpOverload<Tensor> = defineOp(
    `aten::${op}_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor`,
    {
      meta: ({ grad_output, self, indices }) => {
        checkGradient(op, grad_output, [
          ...self.sizes.slice(0, -rank),
          ...indices.sizes.slice(-rank),
        ]);
        checkGradient(op, grad_output, indices.sizes);
        return poolMeta(rank, self, self.sizes);
      },
      kernel: ({ grad_output, self, indices }, [out]) => {
        const at = readNumbers(indices);
        const result = new Float64Array(out!.numel);
        const plane = numelOf(self.sizes.slice(-rank));
        const window = numelOf(grad_output.sizes.slice(-rank));
        readNumbers(grad_output).forEach(
          (g, o) => (result[Math.floor(o / window) * plane + at[o]!]! += g),
        );
        writeNumbers(out!, result);
      },
      saved: ['indices'],
      vjp: ({ grad_output, self, indices }, { grad }) => ({
        grad_output: () => {
          const flat = (x: Tensor): Tensor =>
            reshape(x, [...x.sizes.slice(0, -rank), numelOf(x.sizes.slice(-rank))]);
          return reshape(gather(flat(grad), -1, flat(indices)), grad_output.sizes);
        },
        self: () => zerosOf(self),
      }),
    },
  );
  return forward;
}

const adaptive2d = define(2);
const adaptive3d = define(3);
const adaptive1d = defineOp(
  'aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)',
  {
    decompose: ({ self, output_size }) => {
      const [values, indices] = callOp(adaptive2d, [unsqueeze(self, -2), [1, output_size[0]!]]);
      return [squeeze(values, -2), squeeze(indices, -2)];
    },
  },
);

function call(
  op: OpOverload<[Tensor, Tensor]>,
  rank: number,
  self: Tensor,
  size: number | readonly number[],
): [Tensor, Tensor] {
  return callOp(op, [self, perDimension(op.schema.name, 'output_size', size, rank)]);
}

/** Largest elements of [N, C, L] cut into `outputSize` parts, and their positions. @throws shape-mismatch */
export function adaptiveMaxPool1d(
  self: Tensor,
  outputSize: number | readonly number[],
): [values: Tensor, indices: Tensor] {
  return call(adaptive1d, 1, self, outputSize);
}

/** Largest elements of [N, C, H, W] cut into a grid, and their positions in the H·W plane. @throws shape-mismatch */
export function adaptiveMaxPool2d(
  self: Tensor,
  outputSize: number | readonly number[],
): [values: Tensor, indices: Tensor] {
  return call(adaptive2d, 2, self, outputSize);
}

/** Largest elements of [N, C, D, H, W] cut into a grid, and their positions in the D·H·W volume. @throws shape-mismatch */
export function adaptiveMaxPool3d(
  self: Tensor,
  outputSize: number | readonly number[],
): [values: Tensor, indices: Tensor] {
  return call(adaptive3d, 3, self, outputSize);
}
