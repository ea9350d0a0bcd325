/**
 * @file conv1d to conv3d and their transposed forms, in terms of `convolution`.
 *
 * An input without a batch dimension gets one for the call. `padding: 'same'` keeps the spatial sizes; an
 * odd total puts the extra element at the end.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { perDimension } from '../../kernels/spatial.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { convolution } from './convolution.js';
import { constantPad } from '../resample/pad.js';
import { squeeze, unsqueeze } from '../view/dims.js';

/** @throws shape-mismatch */
function withBatch(
  op: string,
  input: Tensor,
  rank: number,
  run: (batched: Tensor) => Tensor,
): Tensor {
  if (input.ndim === rank + 2) return run(input);
  if (input.ndim === rank + 1) return squeeze(run(unsqueeze(input, 0)), 0);
  throw new TesseraError(
    'shape-mismatch',
    `Expected ${rank + 1}D (unbatched) or ${rank + 2}D (batched) input to ${op}, but got input of size: ${formatSizes(input.sizes)}`,
    { hints: [`The input is [N, C, …] or [C, …] with ${rank} spatial dimensions.`] },
  );
}

interface ConvArgs {
  readonly input: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

function direct(op: string, rank: number, args: ConvArgs): Tensor {
  const list = (name: 'stride' | 'padding' | 'dilation'): readonly number[] =>
    perDimension(op, name, args[name], rank);
  const zero = Array<number>(rank).fill(0);
  return withBatch(op, args.input, rank, (input) =>
    convolution(
      input,
      args.weight,
      args.bias,
      list('stride'),
      list('padding'),
      list('dilation'),
      false,
      zero,
      args.groups,
    ),
  );
}

type NamedPadding = Omit<ConvArgs, 'padding'> & { readonly padding: string };

/** @throws invalid-argument */
function samePadding(op: string, rank: number, args: NamedPadding): Tensor {
  const { padding } = args;
  if (padding === 'valid') return direct(op, rank, { ...args, padding: [0] });
  const [stride, dilation] = [
    perDimension(op, 'stride', args.stride, rank),
    perDimension(op, 'dilation', args.dilation, rank),
  ];
  if (padding !== 'same' || stride.some((s) => s !== 1)) {
    throw new TesseraError(
      'invalid-argument',
      `${op}: padding='${padding}' is not supported${padding === 'same' ? ' for strided convolutions' : ''}`,
      { hints: ["Use numbers, 'valid', or 'same' with stride 1."] },
    );
  }
  const totals = args.weight.sizes.slice(2).map((kernel, i) => dilation[i]! * (kernel - 1));
  const odd = totals.map((total) => total % 2);
  return withBatch(op, args.input, rank, (input) => {
    // Pads are listed from the last dimension on.
    const padded = odd.includes(1)
      ? constantPad(
          input,
          [...odd].reverse().flatMap((extra) => [0, extra]),
        )
      : input;
    return direct(op, rank, {
      ...args,
      input: padded,
      padding: totals.map((total) => Math.floor(total / 2)),
    });
  });
}

function defineConv(rank: number): { direct: OpOverload<Tensor>; named: OpOverload<Tensor> } {
  const op = `conv${rank}d`;
  const list = (value: number): string => `[${Array<number>(rank).fill(value).join(', ')}]`;
  return {
    direct: defineOp(
      `aten::${op}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[${rank}] stride=${list(1)}, SymInt[${rank}] padding=${list(0)}, SymInt[${rank}] dilation=${list(1)}, SymInt groups=1) -> Tensor`,
      {
        decompose: (args) => direct(op, rank, args),
      },
    ),
    named: defineOp(
      `aten::${op}.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[${rank}] stride=${list(1)}, str padding="valid", SymInt[${rank}] dilation=${list(1)}, SymInt groups=1) -> Tensor`,
      {
        decompose: (args) => samePadding(op, rank, args),
      },
    ),
  };
}

function defineTransposed(rank: number): OpOverload<Tensor> {
  const op = `conv_transpose${rank}d`;
  const list = (value: number): string => `[${Array<number>(rank).fill(value).join(', ')}]`;
  return defineOp(
    `aten::${op}${rank === 1 ? '' : '.input'}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[${rank}] stride=${list(1)}, SymInt[${rank}] padding=${list(0)}, SymInt[${rank}] output_padding=${list(0)}, SymInt groups=1, SymInt[${rank}] dilation=${list(1)}) -> Tensor`,
    {
      decompose: (args) => {
        const list = (
          name: 'stride' | 'padding' | 'dilation' | 'output_padding',
        ): readonly number[] => perDimension(op, name, args[name], rank);
        return withBatch(op, args.input, rank, (input) =>
          convolution(
            input,
            args.weight,
            args.bias,
            list('stride'),
            list('padding'),
            list('dilation'),
            true,
            list('output_padding'),
            args.groups,
          ),
        );
      },
    },
  );
}

const convs = { 1: defineConv(1), 2: defineConv(2), 3: defineConv(3) };
const transposed = { 1: defineTransposed(1), 2: defineTransposed(2), 3: defineTransposed(3) };

/** Parameters of convolutions; a number stands for every spatial dimension. */
export interface ConvOptions {
  readonly bias?: Tensor | null;
  readonly stride?: number | readonly number[];
  /** Zeros around the input; `same` keeps the spatial sizes (stride 1). */
  readonly padding?: number | readonly number[] | 'same' | 'valid';
  readonly dilation?: number | readonly number[];
  readonly groups?: number;
}
const CONV: OptionNames<ConvOptions> = {
  bias: true,
  stride: true,
  padding: true,
  dilation: true,
  groups: true,
};

/** Parameters of transposed convolutions. */
export interface ConvTransposeOptions extends Omit<ConvOptions, 'padding'> {
  readonly padding?: number | readonly number[];
  /** Added to one side of the result. */
  readonly outputPadding?: number | readonly number[];
}
const CONV_TRANSPOSE: OptionNames<ConvTransposeOptions> = {
  padding: true,
  outputPadding: true,
  bias: true,
  stride: true,
  dilation: true,
  groups: true,
};

function call(rank: 1 | 2 | 3, input: Tensor, weight: Tensor, options: ConvOptions): Tensor {
  const { bias = null, stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
  const list = (name: string, value: number | readonly number[]): readonly number[] =>
    perDimension(`conv${rank}d`, name, value, rank);
  const named = typeof padding === 'string';
  return callOp(named ? convs[rank].named : convs[rank].direct, [
    input,
    weight,
    bias,
    list('stride', stride),
    named ? padding : list('padding', padding),
    list('dilation', dilation),
    groups,
  ]);
}

function callTransposed(
  rank: 1 | 2 | 3,
  input: Tensor,
  weight: Tensor,
  options: ConvTransposeOptions,
): Tensor {
  const {
    bias = null,
    stride = 1,
    padding = 0,
    outputPadding = 0,
    dilation = 1,
    groups = 1,
  } = options;
  const list = (name: string, value: number | readonly number[]): readonly number[] =>
    perDimension(`conv_transpose${rank}d`, name, value, rank);
  return callOp(transposed[rank], [
    input,
    weight,
    bias,
    list('stride', stride),
    list('padding', padding),
    list('output_padding', outputPadding),
    groups,
    list('dilation', dilation),
  ]);
}

/** [N, C, L] * [K, C/groups, k] → [N, K, L′]. @throws shape-mismatch, dtype-mismatch */
export function conv1d(input: Tensor, weight: Tensor, options: ConvOptions = {}): Tensor {
  checkOptionNames('conv1d', options, CONV);
  return call(1, input, weight, options);
}

/** [N, C, H, W] * [K, C/groups, kh, kw] → [N, K, H′, W′]. @throws shape-mismatch, dtype-mismatch */
export function conv2d(input: Tensor, weight: Tensor, options: ConvOptions = {}): Tensor {
  checkOptionNames('conv2d', options, CONV);
  return call(2, input, weight, options);
}

/** [N, C, D, H, W] * [K, C/groups, kd, kh, kw] → [N, K, D′, H′, W′]. @throws shape-mismatch, dtype-mismatch */
export function conv3d(input: Tensor, weight: Tensor, options: ConvOptions = {}): Tensor {
  checkOptionNames('conv3d', options, CONV);
  return call(3, input, weight, options);
}

/** The gradient of conv1d as an operation: weight [C, K/groups, k]. @throws shape-mismatch, dtype-mismatch */
export function convTranspose1d(
  input: Tensor,
  weight: Tensor,
  options: ConvTransposeOptions = {},
): Tensor {
  checkOptionNames('convTranspose1d', options, CONV_TRANSPOSE);
  return callTransposed(1, input, weight, options);
}

/** The gradient of conv2d as an operation: weight [C, K/groups, kh, kw]. @throws shape-mismatch, dtype-mismatch */
export function convTranspose2d(
  input: Tensor,
  weight: Tensor,
  options: ConvTransposeOptions = {},
): Tensor {
  checkOptionNames('convTranspose2d', options, CONV_TRANSPOSE);
  return callTransposed(2, input, weight, options);
}

/** The gradient of conv3d as an operation: weight [C, K/groups, kd, kh, kw]. @throws shape-mismatch, dtype-mismatch */
export function convTranspose3d(
  input: Tensor,
  weight: Tensor,
  options: ConvTransposeOptions = {},
): Tensor {
  checkOptionNames('convTranspose3d', options, CONV_TRANSPOSE);
  return callTransposed(3, input, weight, options);
}
