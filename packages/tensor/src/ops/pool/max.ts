/**
 * @file Max pooling over one to three spatial dimensions.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { forEachTap, forEachWindow, slidingSpans } from '../../kernels/pooling-kernel.js';
import { imageMeta } from '../../kernels/suggest-format.js';
import { perDimension } from '../../kernels/spatial.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { checkGradient, numelOf } from '../../shape.js';
import { slidingShape } from './shape.js';
import type { SchemaArgs } from '../../op/schema-types.js';
import type { Tensor } from '../../tensor.js';
import { gather } from '../indexing/scatter.js';
import { reshape } from '../view/view.js';
import { squeeze, unsqueeze } from '../view/dims.js';
import { zerosLike } from '../factory/like.js';

interface MaxPool {
  readonly withIndices: OpOverload<[Tensor, Tensor]>;
  readonly plain: OpOverload<Tensor>;
}

function define(rank: 2 | 3): MaxPool {
  const op = `max_pool${rank}d`;
  const parameters =
    `int[${rank}] kernel_size, int[${rank}] stride=[], int[${rank}] padding=0, int[${rank}] dilation=1, bool ceil_mode=False` as const;
  const withIndices = defineOp(
    `aten::${op}_with_indices(Tensor self, ${parameters}) -> (Tensor, Tensor)`,
    {
      tags: ['reduction'],
      meta: (args) => {
        const self = args.self;
        checkNumbers(op, self);
        const sizes = [...self.sizes.slice(0, -rank), ...slidingShape(op, rank, args).output];
        const meta = imageMeta(self, sizes);
        return [meta, { ...meta, dtype: 'int64' }];
      },
      kernel: (args, [out, indices]) => {
        const shape = slidingShape(op, rank, args);
        const x = readNumbers(args.self);
        const values = new Float64Array(out!.numel);
        const positions = new Float64Array(out!.numel);
        const planes = numelOf(args.self.sizes.slice(0, -rank));
        forEachWindow(
          planes,
          shape.input,
          shape.output.map((_, d) => slidingSpans(shape, d)),
          (o, base, spans) => {
            let best = -Infinity;
            let at = -1;
            forEachTap(shape.input, spans, (position) => {
              const value = x[base + position]!;
              // NaN wins, and then the last one; an all -∞ window keeps its first position.
              if (at < 0 || value > best || Number.isNaN(value)) {
                best = value;
                at = position;
              }
            });
            values[o] = best;
            positions[o] = at;
          },
        );
        writeNumbers(out!, values);
        writeNumbers(indices!, positions);
      },
      saved: ['self', 'out.1'],
      vjp: ({ self, kernel_size, stride, padding, dilation, ceil_mode }, { grad, outs }) => ({
        self: () =>
          callOp(backward, [
            grad,
            self,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            outs[1],
          ]),
      }),
    },
  );
  const backward: OpOverload<Tensor> = defineOp(
    `aten::${op}_with_indices_backward(Tensor grad_output, Tensor self, int[${rank}] kernel_size, int[${rank}] stride, int[${rank}] padding, int[${rank}] dilation, bool ceil_mode, Tensor indices) -> Tensor`,
    {
      meta: (args) => {
        const { self, grad_output, indices } = args;
        const { output } = slidingShape(op, rank, args);
        checkGradient(op, grad_output, [...self.sizes.slice(0, -rank), ...output]);
        checkGradient(op, grad_output, indices.sizes);
        return imageMeta(self, self.sizes);
      },
      kernel: ({ grad_output, self, indices }, [out]) => {
        const grads = readNumbers(grad_output);
        const at = readNumbers(indices);
        const result = new Float64Array(out!.numel);
        const plane = numelOf(self.sizes.slice(-rank));
        const window = numelOf(grad_output.sizes.slice(-rank));
        grads.forEach((g, o) => (result[Math.floor(o / window) * plane + at[o]!]! += g));
        writeNumbers(out!, result);
      },
      saved: ['indices'],
      vjp: ({ indices, grad_output }, { grad }) => ({
        grad_output: () => {
          const lead = grad.sizes.slice(0, -rank);
          const flat = (x: Tensor): Tensor => reshape(x, [...lead, numelOf(x.sizes.slice(-rank))]);
          return reshape(gather(flat(grad), -1, flat(indices)), grad_output.sizes);
        },
        self: () => zerosLike(grad),
      }),
    },
  );
  const plain = defineOp(`aten::${op}(Tensor self, ${parameters}) -> Tensor`, {
    decompose: ({ self, kernel_size, stride, padding, dilation, ceil_mode }) =>
      callOp(withIndices, [self, kernel_size, stride, padding, dilation, ceil_mode])[0],
  });
  return { withIndices, plain };
}

const pools = { 2: define(2), 3: define(3) };

type Pool1d = SchemaArgs<`aten::max_pool1d(${typeof PARAMETERS_1D}) -> Tensor`>;

/** One spatial dimension pools as the second of two. */
function asTwo({
  self,
  kernel_size,
  stride,
  padding,
  dilation,
  ceil_mode,
}: Pool1d): [Tensor, Tensor] {
  const two = (list: readonly number[], first: number): number[] =>
    list.length === 0 ? [] : [first, list[0]!];
  const [values, indices] = callOp(pools[2].withIndices, [
    unsqueeze(self, -2),
    two(kernel_size, 1),
    two(stride, 1),
    two(padding, 0),
    two(dilation, 1),
    ceil_mode,
  ]);
  return [squeeze(values, -2), squeeze(indices, -2)];
}
const PARAMETERS_1D =
  'Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False';
const pool1dIndices = defineOp(
  `aten::max_pool1d_with_indices(${PARAMETERS_1D}) -> (Tensor, Tensor)`,
  { decompose: asTwo },
);
const pool1d = defineOp(`aten::max_pool1d(${PARAMETERS_1D}) -> Tensor`, {
  decompose: (args) => asTwo(args)[0],
});

/** Parameters of max pooling; a number stands for every spatial dimension. */
export interface MaxPoolOptions {
  /** The kernel size unless given, and for an empty list. */
  readonly stride?: number | readonly number[];
  readonly padding?: number | readonly number[];
  readonly dilation?: number | readonly number[];
  /** Whether windows may hang over the end. */
  readonly ceilMode?: boolean;
}
const MAX_POOL: OptionNames<MaxPoolOptions> = {
  stride: true,
  padding: true,
  dilation: true,
  ceilMode: true,
};

function call<Result>(
  op: OpOverload<Result>,
  rank: number,
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions,
): Result {
  const list = (name: string, value: number | readonly number[]): readonly number[] =>
    perDimension(op.schema.name, name, value, rank);
  const { stride = [], padding = 0, dilation = 1, ceilMode = false } = options;
  return callOp(op, [
    self,
    list('kernel_size', kernelSize),
    typeof stride === 'object' && stride.length === 0 ? stride : list('stride', stride),
    list('padding', padding),
    list('dilation', dilation),
    ceilMode,
  ]);
}

/** Largest element of each window of [N, C, L]. @throws shape-mismatch, invalid-argument */
export function maxPool1d(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions = {},
): Tensor {
  checkOptionNames('maxPool1d', options, MAX_POOL);
  return call(pool1d, 1, self, kernelSize, options);
}

/** Largest element of each window of [N, C, H, W]. @throws shape-mismatch, invalid-argument */
export function maxPool2d(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions = {},
): Tensor {
  checkOptionNames('maxPool2d', options, MAX_POOL);
  return call(pools[2].plain, 2, self, kernelSize, options);
}

/** Largest element of each window of [N, C, D, H, W]. @throws shape-mismatch, invalid-argument */
export function maxPool3d(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions = {},
): Tensor {
  checkOptionNames('maxPool3d', options, MAX_POOL);
  return call(pools[3].plain, 3, self, kernelSize, options);
}

/** `maxPool2d` with the position of each winner in its H·W plane. @throws shape-mismatch, invalid-argument */
export function maxPool2dWithIndices(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions = {},
): [values: Tensor, indices: Tensor] {
  checkOptionNames('maxPool2dWithIndices', options, MAX_POOL);
  return call(pools[2].withIndices, 2, self, kernelSize, options);
}

/** `maxPool1d` with the position of each winner. @throws shape-mismatch, invalid-argument */
export function maxPool1dWithIndices(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions = {},
): [values: Tensor, indices: Tensor] {
  checkOptionNames('maxPool1dWithIndices', options, MAX_POOL);
  return call(pool1dIndices, 1, self, kernelSize, options);
}

/** maxPool3d with the flat position of each winner within its volume. @throws shape-mismatch, invalid-argument */
export function maxPool3dWithIndices(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: MaxPoolOptions = {},
): [values: Tensor, indices: Tensor] {
  checkOptionNames('maxPool3dWithIndices', options, MAX_POOL);
  return call(pools[3].withIndices, 3, self, kernelSize, options);
}
