/**
 * @file Patches: every window of an image as a column, and columns summed back into an image.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { checkWindows, perDimension, windowCount } from '../../kernels/spatial.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { formatSizes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';

interface Patches {
  readonly kernel: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly stride: readonly number[];
  /** Height and width of the image. */
  readonly image: readonly number[];
  /** Windows per dimension. */
  readonly windows: readonly number[];
}

interface WindowArgs {
  readonly kernel_size: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly stride: readonly number[];
}

/** @throws shape-mismatch, invalid-argument */
function patchesOf(op: string, image: readonly number[], args: WindowArgs): Patches {
  const list = (name: keyof WindowArgs): readonly number[] =>
    perDimension(op, name, args[name], 2, true);
  const [kernel, dilation] = [list('kernel_size'), list('dilation')];
  const [padding, stride] = [list('padding'), list('stride')];
  checkWindows(op, { kernel, dilation, padding, stride });
  const windows = image.map((size, d) =>
    windowCount(size, kernel[d]!, stride[d]!, padding[d]!, dilation[d]!),
  );
  if (windows.some((count) => count < 1))
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Given an image of spatial size ${formatSizes(image)}, kernel_size=${formatSizes(kernel)}, dilation=${formatSizes(dilation)}, padding=${formatSizes(padding)}, stride=${formatSizes(stride)}, the array of sliding blocks has shape ${formatSizes(windows)}, which is too small (non-positive)`,
      { hints: ['Use a smaller kernel or pad the image.'] },
    );
  return { kernel, dilation, padding, stride, image, windows };
}

/** Calls `visit(column element, image element)` for the elements of windows that lie inside the image. */
function forEachPatchElement(
  planes: number,
  { kernel, dilation, padding, stride, image, windows }: Patches,
  visit: (column: number, at: number) => void,
): void {
  const [height, width] = image;
  let column = 0;
  for (let plane = 0; plane < planes; plane++)
    for (let i = 0; i < kernel[0]!; i++)
      for (let j = 0; j < kernel[1]!; j++)
        for (let h = 0; h < windows[0]!; h++)
          for (let w = 0; w < windows[1]!; w++, column++) {
            const y = h * stride[0]! - padding[0]! + i * dilation[0]!;
            const x = w * stride[1]! - padding[1]! + j * dilation[1]!;
            if (y >= 0 && y < height && x >= 0 && x < width)
              visit(column, (plane * height + y) * width + x);
          }
}

function dense(like: Tensor, sizes: readonly number[]): TensorMeta {
  return denseMeta(like, sizes);
}

/** Whether a tensor has `rank` dimensions or one more, the batch, and only the batch may be empty. */
function hasRank(x: Tensor, rank: number): boolean {
  return (x.ndim === rank || x.ndim === rank + 1) && !x.sizes.slice(x.ndim - rank).includes(0);
}

const PARAMETERS = 'int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride';

const toColumns: OpOverload<Tensor> = defineOp(
  `aten::im2col(Tensor self, ${PARAMETERS}) -> Tensor`,
  {
    meta: (args) => {
      const x = args.self;
      if (!hasRank(x, 3))
        throw new TesseraError(
          'shape-mismatch',
          `im2col: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ${formatSizes(x.sizes)}`,
          { hints: ['The input is [N, C, H, W] or [C, H, W].'] },
        );
      const { kernel, windows } = patchesOf('im2col', x.sizes.slice(-2), args);
      return dense(x, [
        ...x.sizes.slice(0, -3),
        x.sizes.at(-3)! * kernel[0]! * kernel[1]!,
        windows[0]! * windows[1]!,
      ]);
    },
    kernel: (args, [out]) => {
      const self = args.self;
      const x = readNumbers(self);
      const result = new Float64Array(out!.numel);
      const planes = numelOf(self.sizes.slice(0, -2));
      forEachPatchElement(
        planes,
        patchesOf('im2col', self.sizes.slice(-2), args),
        (column, at) => (result[column] = x[at]!),
      );
      writeNumbers(out!, result);
    },
    vjp: ({ self, kernel_size, dilation, padding, stride }, { grad }) => ({
      self: () =>
        callOp(toImage, [grad, self.sizes.slice(-2), kernel_size, dilation, padding, stride]),
    }),
  },
);

const toImage: OpOverload<Tensor> = defineOp(
  `aten::col2im(Tensor self, SymInt[2] output_size, ${PARAMETERS}) -> Tensor`,
  {
    meta: (args) => {
      const x = args.self;
      const refuse = (message: string): never => {
        throw new TesseraError('shape-mismatch', `col2im: ${message}`, {
          hints: ['The input is [N, C · kernel height · kernel width, windows], or without N.'],
        });
      };
      if (!hasRank(x, 2))
        refuse(
          `Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: ${formatSizes(x.sizes)}`,
        );
      const image = perDimension('col2im', 'output_size', args.output_size, 2);
      const { kernel, windows } = patchesOf('col2im', image, args);
      const [rows, columns] = x.sizes.slice(-2);
      const patch = kernel[0]! * kernel[1]!;
      if (rows % patch !== 0)
        refuse(
          `Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=${rows} and kernel_size=${formatSizes(kernel)}.`,
        );
      if (columns !== windows[0]! * windows[1]!)
        refuse(
          `Given output_size=${formatSizes(image)}, expected size of input's dimension 2 to match the calculated number of sliding blocks ${windows.join(' * ')} = ${windows[0]! * windows[1]!}, but got input.size(2)=${columns}.`,
        );
      return dense(x, [...x.sizes.slice(0, -2), rows / patch, ...image]);
    },
    kernel: (args, [out]) => {
      const columns = readNumbers(args.self);
      const image = out!.sizes.slice(-2);
      const result = new Float64Array(out!.numel);
      const planes = numelOf(out!.sizes.slice(0, -2));
      forEachPatchElement(
        planes,
        patchesOf('col2im', image, args),
        (column, at) => (result[at]! += columns[column]!),
      );
      writeNumbers(out!, result);
    },
    vjp: ({ kernel_size, dilation, padding, stride }, { grad }) => ({
      self: () => callOp(toColumns, [grad, kernel_size, dilation, padding, stride]),
    }),
  },
);

/** Parameters of windows; a number stands for both dimensions. */
export interface PatchOptions {
  readonly dilation?: number | readonly number[];
  readonly padding?: number | readonly number[];
  readonly stride?: number | readonly number[];
}

function parameters(
  op: string,
  kernelSize: number | readonly number[],
  { dilation = 1, padding = 0, stride = 1 }: PatchOptions,
): (readonly number[])[] {
  return Object.entries({ kernelSize, dilation, padding, stride }).map(([name, value]) =>
    perDimension(op, name, value, 2),
  );
}

/** Every window of [N, C, H, W] as a column: [N, C · kernel, windows]. @throws shape-mismatch, invalid-argument @see torch.nn.functional.unfold */
export function im2col(
  self: Tensor,
  kernelSize: number | readonly number[],
  options: PatchOptions = {},
): Tensor {
  return callOp(toColumns, [self, ...parameters('im2col', kernelSize, options)]);
}

/** Columns [N, C · kernel, windows] summed into an image [N, C, H, W]. @throws shape-mismatch, invalid-argument @see torch.nn.functional.fold */
export function col2im(
  self: Tensor,
  outputSize: number | readonly number[],
  kernelSize: number | readonly number[],
  options: PatchOptions = {},
): Tensor {
  const size = perDimension('col2im', 'output_size', outputSize, 2);
  return callOp(toImage, [self, size, ...parameters('col2im', kernelSize, options)]);
}
