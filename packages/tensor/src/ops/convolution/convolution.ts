/**
 * @file Convolution, transposed or not, over one to three spatial dimensions, and its backward.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import {
  convolveForward,
  convolveToInput,
  convolveToWeight,
} from '../../kernels/convolution-kernel.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import {
  type ConvolutionArgs,
  convolutionShape,
  convolvedSizes,
  convolvedStrides,
} from '../../kernels/convolution-shape.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { checkGradient, contiguousStrides, formatSizes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { add } from '../pointwise/arithmetic.js';
import { reshape } from '../view/view.js';

function checkTypes(input: Tensor, weight: Tensor, bias: Tensor | null): void {
  const odd = [weight, bias].find((tensor) => tensor !== null && tensor.dtype !== input.dtype);
  if (odd == null) return;
  throw new TesseraError(
    'dtype-mismatch',
    `convolution: Input type (${input.dtype}) and ${odd === bias ? 'bias' : 'weight'} type (${odd.dtype}) should be the same`,
    { hints: [`Convert one: x.to('${odd.dtype}').`] },
  );
}

/** The op, which freezing rewrites. */
export const convolutionOp: OpOverload<Tensor> = defineOp(
  'aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: (args) => {
      const input = args.input;
      const weight = args.weight;
      checkNumbers('convolution', input);
      checkTypes(input, weight, args.bias);
      const sizes = convolvedSizes(
        convolutionShape(args, input.sizes, weight.sizes),
        args.transposed,
      );
      if (args.bias !== null && (args.bias.ndim !== 1 || args.bias.sizes[0] !== sizes[1])) {
        throw new TesseraError(
          'shape-mismatch',
          `convolution: expected bias to be 1-dimensional with ${sizes[1]} elements, but got bias of size ${formatSizes(args.bias.sizes)}`,
          { hints: ['Give one bias per output channel.'] },
        );
      }
      return {
        sizes,
        strides: convolvedStrides(sizes, input, weight),
        dtype: input.dtype,
        device: input.device,
      };
    },
    kernel: (args, [out]) => {
      const input = args.input;
      const weight = args.weight;
      const shape = convolutionShape(args, input.sizes, weight.sizes);
      const result = new Float64Array(out!.numel);
      if (args.bias !== null) {
        const bias = readNumbers(args.bias);
        const plane = numelOf(out!.sizes.slice(2));
        for (let i = 0; i < result.length; i++)
          result[i] = bias[Math.floor(i / plane) % bias.length]!;
      }
      (args.transposed === true ? convolveToInput : convolveForward)(
        shape,
        readNumbers(input),
        readNumbers(weight),
        result,
      );
      writeNumbers(out!, result);
    },
    saved: ['input', 'weight'],
    vjp: (args, { grad, needs }) => {
      const mask = [needs('input'), needs('weight'), needs('bias')];
      const [input, weight, bias] = backward(
        grad,
        args.input,
        args.weight,
        args,
        mask,
        args.bias === null ? null : args.bias.sizes,
      );
      return {
        input: mask[0] ? input! : null,
        weight: mask[1] ? weight! : null,
        bias: mask[2] ? bias! : null,
      };
    },
  },
);

/** The geometry arguments of a call, as both ops take them. */
function geometry(args: ConvolutionArgs): unknown[] {
  return [
    args.stride,
    args.padding,
    args.dilation,
    args.transposed,
    args.output_padding,
    args.groups,
  ];
}

function backward(
  grad: Tensor,
  input: Tensor,
  weight: Tensor,
  args: ConvolutionArgs,
  mask: readonly boolean[],
  biasSizes: readonly number[] | null,
): Tensor[] {
  return callOp(convolutionBackwardOp, [grad, input, weight, biasSizes, ...geometry(args), mask]);
}

function convolve(input: Tensor, weight: Tensor, args: ConvolutionArgs): Tensor {
  return callOp(convolutionOp, [input, weight, null, ...geometry(args)]);
}

const convolutionBackwardOp = defineOp(
  'aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['compute-intensive'],
    meta: (args) => {
      const mask = args.output_mask;
      const input = args.input;
      const weight = args.weight;
      const shape = convolutionShape(args, input.sizes, weight.sizes);
      checkGradient('convolution', args.grad_output, convolvedSizes(shape, args.transposed));
      const part = (wanted: boolean, sizes: readonly number[], ...like: Tensor[]): TensorMeta => {
        const shape = wanted ? sizes : [0];
        return {
          sizes: shape,
          strides:
            wanted && like.length > 0 ? convolvedStrides(shape, ...like) : contiguousStrides(shape),
          dtype: input.dtype,
          device: input.device,
        };
      };
      return [
        part(mask[0]!, input.sizes, input, weight),
        part(mask[1]!, weight.sizes, input, weight),
        part(mask[2]!, [args.grad_output.sizes[1]]),
      ];
    },
    kernel: (args, [dInput, dWeight, dBias]) => {
      const shape = convolutionShape(args, args.input.sizes, args.weight.sizes);
      const grad = readNumbers(args.grad_output);
      const input = readNumbers(args.input);
      const weight = readNumbers(args.weight);
      const mask = args.output_mask;
      const transposed = args.transposed;
      if (mask[0]) {
        const result = new Float64Array(dInput!.numel);
        (transposed ? convolveForward : convolveToInput)(shape, grad, weight, result);
        writeNumbers(dInput!, result);
      }
      if (mask[1]) {
        const result = new Float64Array(dWeight!.numel);
        if (transposed) convolveToWeight(shape, grad, input, result);
        else convolveToWeight(shape, input, grad, result);
        writeNumbers(dWeight!, result);
      }
      if (mask[2]) {
        const result = new Float64Array(dBias!.numel);
        const plane = numelOf(args.grad_output.sizes.slice(2));
        grad.forEach((value, i) => (result[Math.floor(i / plane) % result.length]! += value));
        writeNumbers(dBias!, result);
      }
    },
    saved: ['grad_output', 'input', 'weight'],
    // The three results are bilinear in (gradient, input, weight), so their derivatives are convolutions again.
    vjp: (args, { grads }) => {
      const { grad_output, input, weight } = args;
      // A result that was left out is an empty tensor, and so may be its gradient.
      const [forInput, forWeight, forBias] = grads.map((grad, i) =>
        args.output_mask[i] ? grad : null,
      );
      return {
        grad_output: () => {
          const parts: Tensor[] = [];
          if (forInput != null) parts.push(convolve(forInput, weight, args));
          if (forWeight != null) parts.push(convolve(input, forWeight, args));
          if (forBias != null)
            parts.push(
              reshape(forBias, [1, -1, ...grad_output.sizes.slice(2).map(() => 1)]).expand(
                grad_output.sizes,
              ),
            );
          return parts.reduce<Tensor | null>(
            (total, part) => (total === null ? part : add(total, part)),
            null,
          );
        },
        input: () =>
          forWeight == null
            ? null
            : backward(grad_output, input, forWeight, args, [true, false, false], null)[0]!,
        weight: () =>
          forInput == null
            ? null
            : backward(grad_output, forInput, weight, args, [false, true, false], null)[1]!,
      };
    },
  },
);

/** All parameters of a convolution: the primitive that the others come down to. @throws shape-mismatch, dtype-mismatch */
export function convolution(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: readonly number[],
  padding: readonly number[],
  dilation: readonly number[],
  transposed: boolean,
  outputPadding: readonly number[],
  groups: number,
): Tensor {
  return callOp(convolutionOp, [
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    outputPadding,
    groups,
  ]);
}
