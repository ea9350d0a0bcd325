/**
 * @file Grid sampling: an image read at the positions that a grid holds.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { writeNumbers } from '../../kernels/elements.js';
import {
  BICUBIC,
  type Sampling,
  sampleGrid,
  sampleGridBackward,
} from '../../kernels/grid-sample-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';

const PARAMETERS = 'int interpolation_mode, int padding_mode, bool align_corners';

function samplingOf(args: {
  input: Tensor;
  grid: Tensor;
  interpolation_mode: number;
  padding_mode: number;
  align_corners: boolean;
}): Sampling {
  return {
    input: args.input,
    grid: args.grid,
    interpolation: args.interpolation_mode,
    padding: args.padding_mode,
    alignCorners: args.align_corners,
  };
}

function refuse(message: string): never {
  throw new TesseraError('shape-mismatch', `grid_sampler(): ${message}`, {
    hints: ['The input is [N, C, (D,) H, W], the grid [N, (D,) H, W, 2 or 3].'],
  });
}

/** @throws shape-mismatch, dtype-mismatch */
function check(
  rank: number,
  { input, grid, interpolation_mode }: { input: Tensor; grid: Tensor; interpolation_mode: number },
): void {
  if (input.ndim !== rank + 2 || grid.ndim !== rank + 2)
    refuse(
      `expected ${rank + 2}D input and grid, but got input with sizes ${formatSizes(input.sizes)} and grid with sizes ${formatSizes(grid.sizes)}`,
    );
  if (input.sizes[0] !== grid.sizes[0])
    refuse(
      `expected grid and input to have same batch size, but got input with sizes ${formatSizes(input.sizes)} and grid with sizes ${formatSizes(grid.sizes)}`,
    );
  if (grid.sizes[rank + 1] !== rank)
    refuse(
      `expected grid to have size ${rank} in last dimension, but got grid with sizes ${formatSizes(grid.sizes)}`,
    );
  if (input.sizes.slice(2).includes(0))
    refuse(
      `expected input to have non-empty spatial dimensions, but input has sizes ${formatSizes(input.sizes)}`,
    );
  if (rank === 3 && interpolation_mode === BICUBIC)
    throw new TesseraError(
      'invalid-argument',
      'grid_sampler(): bicubic interpolation only supports 4D input',
      { hints: ["Use 'bilinear' or 'nearest' for volumes."] },
    );
  if (input.dtype !== grid.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `grid_sampler(): expected input and grid to have same dtype, but input has ${input.dtype} and grid has ${grid.dtype}`,
      { hints: ['Convert one: grid.to(input.dtype).'] },
    );
}

function dense(like: Tensor, sizes: readonly number[]): TensorMeta {
  return denseMeta(like, sizes);
}

/** Sizes of the result: batch and channels of the input, points of the grid. */
function sampledSizes({ input, grid }: { input: Tensor; grid: Tensor }): number[] {
  return [...input.sizes.slice(0, 2), ...grid.sizes.slice(1, -1)];
}

function define(rank: 2 | 3): OpOverload<Tensor> {
  const op = `grid_sampler_${rank}d`;
  const forward = defineOp(`aten::${op}(Tensor input, Tensor grid, ${PARAMETERS}) -> Tensor`, {
    meta: (args) => {
      check(rank, args);
      return dense(args.input, sampledSizes(args));
    },
    kernel: (args, [out]) => writeNumbers(out!, sampleGrid(samplingOf(args), out!.numel)),
    saved: ['input', 'grid'],
    vjp: (args, { grad, needs }) => {
      const mask = [needs('input'), needs('grid')];
      const { input, grid, interpolation_mode, padding_mode, align_corners } = args;
      const [dInput, dGrid] = callOp(backward, [
        grad,
        input,
        grid,
        interpolation_mode,
        padding_mode,
        align_corners,
        mask,
      ]);
      return { input: mask[0] ? dInput! : null, grid: mask[1] ? dGrid! : null };
    },
  });
  const backward: OpOverload<[Tensor, Tensor]> = defineOp(
    `aten::${op}_backward(Tensor grad_output, Tensor input, Tensor grid, ${PARAMETERS}, bool[2] output_mask) -> (Tensor, Tensor)`,
    {
      meta: (args) => {
        check(rank, args);
        const expected = sampledSizes(args);
        if (!sameNumbers(args.grad_output.sizes, expected))
          refuse(
            `expected a gradient of shape ${formatSizes(expected)}, but got ${formatSizes(args.grad_output.sizes)}`,
          );
        const mask = args.output_mask;
        return [args.input, args.grid].map((x, i) => dense(x, mask[i] ? x.sizes : [0]));
      },
      kernel: (args, [dInput, dGrid]) => {
        const grads = sampleGridBackward(samplingOf(args), args.grad_output);
        const mask = args.output_mask;
        if (mask[0]) writeNumbers(dInput!, grads.input);
        if (mask[1]) writeNumbers(dGrid!, grads.grid);
      },
    },
  );
  return forward;
}

const samplers = { 2: define(2), 3: define(3) };

const samplerOp = defineOp(
  `aten::grid_sampler(Tensor input, Tensor grid, ${PARAMETERS}) -> Tensor`,
  {
    decompose: ({ input, grid, interpolation_mode, padding_mode, align_corners }) =>
      callOp(samplers[input.ndim === 5 ? 3 : 2], [
        input,
        grid,
        interpolation_mode,
        padding_mode,
        align_corners,
      ]),
  },
);

const MODES = ['bilinear', 'nearest', 'bicubic'] as const;
const PADDINGS = ['zeros', 'border', 'reflection'] as const;

/** Parameters of `gridSample`. */
export interface GridSampleOptions {
  /** How elements between are made (default bilinear, which stands for trilinear too). */
  readonly mode?: (typeof MODES)[number];
  /** What lies outside the image (default zeros). */
  readonly paddingMode?: (typeof PADDINGS)[number];
  /** Whether -1 and 1 mean the centres of the first and last elements, not their outer edges. */
  readonly alignCorners?: boolean;
}

/** The image [N, C, H, W] at positions [N, H', W', 2] of (x, y) from -1 to 1 → [N, C, H', W']; volumes likewise. @throws shape-mismatch, dtype-mismatch, invalid-argument */
export function gridSample(input: Tensor, grid: Tensor, options: GridSampleOptions = {}): Tensor {
  const { mode = 'bilinear', paddingMode = 'zeros', alignCorners = false } = options;
  const [at, outside] = [MODES.indexOf(mode), PADDINGS.indexOf(paddingMode)];
  if (at < 0 || outside < 0)
    throw new TesseraError(
      'invalid-argument',
      `grid_sample(): expected mode ${MODES.join(', ')} and padding ${PADDINGS.join(', ')}, but got '${mode}' and '${paddingMode}'`,
      { hints: ["The defaults are 'bilinear' and 'zeros'."] },
    );
  return callOp(samplerOp, [input, grid, at, outside, alignCorners]);
}
