/**
 * @file Average pooling over one to three spatial dimensions.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import {
  type PoolShape,
  type Span,
  forEachTap,
  forEachWindow,
  slidingSpans,
} from '../../kernels/pooling-kernel.js';
import { perDimension } from '../../kernels/spatial.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { checkGradient } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { planesOf, poolMeta, slidingShape, zerosOf } from './shape.js';
import { squeeze, unsqueeze } from '../view/dims.js';

/** What a window is divided by. */
function divisorOf(
  shape: PoolShape,
  spans: readonly [Span, Span, Span],
  args: { divisor_override: number | null; count_include_pad: boolean },
): number {
  if (args.divisor_override != null) return args.divisor_override;
  const lead = 3 - shape.input.length;
  return shape.input.reduce((count, size, d) => {
    const { start, end } = spans[d + lead]!;
    const padded = Math.min(end, size + shape.padding[d]!) - start;
    return (
      count * (args.count_include_pad === true ? padded : Math.min(end, size) - Math.max(start, 0))
    );
  }, 1);
}

/** PyTorch's average over volumes does not count the padding as room for a window. @throws shape-mismatch */
function checkInputSize({ input, kernel }: PoolShape): void {
  if (input.every((size, d) => size >= kernel[d]!)) return;
  const [[t, h, w], [kT, kH, kW]] = [input, kernel];
  throw new TesseraError(
    'shape-mismatch',
    `input image (T: ${t} H: ${h} W: ${w}) smaller than kernel size (kT: ${kT} kH: ${kH} kW: ${kW})`,
    { hints: ['Use a smaller kernel.'] },
  );
}

function define(rank: 2 | 3): OpOverload<Tensor> {
  const op = `avg_pool${rank}d`;
  const spansOf = (shape: PoolShape): Span[][] =>
    shape.output.map((_, d) => slidingSpans(shape, d));
  const forward = defineOp(
    `aten::${op}(Tensor self, int[${rank}] kernel_size, int[${rank}] stride=[], int[${rank}] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor`,
    {
      tags: ['reduction'],
      meta: (args) => {
        const self = args.self;
        if (self.dtype !== 'int64') checkFloating(op, self);
        if (args.divisor_override === 0)
          throw new TesseraError('invalid-argument', `${op}: divisor must be not zero`, {
            hints: ['Leave divisorOverride out to divide by the number of elements.'],
          });
        const shape = slidingShape(op, rank, args);
        if (rank === 3) checkInputSize(shape);
        return poolMeta(rank, self, [...self.sizes.slice(0, -rank), ...shape.output]);
      },
      kernel: (args, [out]) => {
        const shape = slidingShape(op, rank, args);
        const x = readNumbers(args.self);
        const result = new Float64Array(out!.numel);
        forEachWindow(planesOf(out!, rank), shape.input, spansOf(shape), (o, base, spans) => {
          let total = 0;
          forEachTap(shape.input, spans, (position) => (total += x[base + position]!));
          result[o] = total === 0 ? 0 : total / divisorOf(shape, spans, args);
        });
        writeNumbers(out!, result);
      },
      saved: ['self'],
      vjp: (
        { self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override },
        { grad },
      ) => ({
        self: () =>
          callOp(backward, [
            grad,
            self,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
          ]),
      }),
    },
  );
  const backward: OpOverload<Tensor> = defineOp(
    `aten::${op}_backward(Tensor grad_output, Tensor self, int[${rank}] kernel_size, int[${rank}] stride, int[${rank}] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor`,
    {
      meta: (args) => {
        const { self, grad_output } = args;
        const { output } = slidingShape(op, rank, args);
        checkGradient(op, grad_output, [...self.sizes.slice(0, -rank), ...output]);
        return poolMeta(rank, self, self.sizes);
      },
      kernel: (args, [out]) => {
        const shape = slidingShape(op, rank, args);
        const grads = readNumbers(args.grad_output);
        const result = new Float64Array(out!.numel);
        forEachWindow(planesOf(out!, rank), shape.input, spansOf(shape), (o, base, spans) => {
          const share = grads[o]! / divisorOf(shape, spans, args);
          forEachTap(shape.input, spans, (position) => (result[base + position]! += share));
        });
        writeNumbers(out!, result);
      },
      vjp: (
        { self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override },
        { grad },
      ) => ({
        grad_output: () =>
          callOp(forward, [
            grad,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
          ]),
        self: () => zerosOf(self),
      }),
    },
  );
  return forward;
}

const average2d = define(2);
const average3d = define(3);
const average1d = defineOp(
  'aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor',
  {
    decompose: ({ self, kernel_size, stride, padding, ceil_mode, count_include_pad }) => {
      const two = (list: readonly number[], first: number): number[] =>
        list.length === 0 ? [] : [first, list[0]!];
      return squeeze(
        callOp(average2d, [
          unsqueeze(self, -2),
          two(kernel_size, 1),
          two(stride, 1),
          two(padding, 0),
          ceil_mode,
          count_include_pad,
          null,
        ]),
        -2,
      );
    },
  },
);

/** Parameters of average pooling; a number stands for every spatial dimension. */
export interface AvgPoolOptions {
  /** The kernel size unless given, and for an empty list. */
  readonly stride?: number | readonly number[];
  readonly padding?: number | readonly number[];
  readonly ceilMode?: boolean;
  /** Whether padding counts in the average. */
  readonly countIncludePad?: boolean;
  /** Divides by this instead of the window's size. */
  readonly divisorOverride?: number | null;
}
const AVG_POOL: OptionNames<AvgPoolOptions> = {
  stride: true,
  padding: true,
  ceilMode: true,
  countIncludePad: true,
  divisorOverride: true,
};

function call(
  op: OpOverload<Tensor>,
  rank: number,
  self: Tensor,
  kernelSize: number | readonly number[],
  options: AvgPoolOptions,
): Tensor {
  const list = (name: string, value: number | readonly number[]): readonly number[] =>
    perDimension(op.schema.name, name, value, rank);
  const {
    stride = [],
    padding = 0,
    ceilMode = false,
    countIncludePad = true,
    divisorOverride = null,
  } = options;
  const args = [
    self,
    list('kernel_size', kernelSize),
    typeof stride === 'object' && stride.length === 0 ? stride : list('stride', stride),
    list('padding', padding),
    ceilMode,
    countIncludePad,
  ];
  return callOp(op, rank === 1 ? args : [...args, divisorOverride]);
}

/** Mean of each window of [N, C, L]. @throws shape-mismatch */
export function avgPool1d(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: AvgPoolOptions = {},
): Tensor {
  checkOptionNames('avgPool1d', options, AVG_POOL);
  return call(average1d, 1, self, kernelSize, options);
}

/** Mean of each window of [N, C, H, W]. @throws shape-mismatch */
export function avgPool2d(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: AvgPoolOptions = {},
): Tensor {
  checkOptionNames('avgPool2d', options, AVG_POOL);
  return call(average2d, 2, self, kernelSize, options);
}

/** Mean of each window of [N, C, D, H, W]. @throws shape-mismatch */
export function avgPool3d(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: AvgPoolOptions = {},
): Tensor {
  checkOptionNames('avgPool3d', options, AVG_POOL);
  return call(average3d, 3, self, kernelSize, options);
}
