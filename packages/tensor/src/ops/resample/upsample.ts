/**
 * @file Resizing of [N, C, …] over one to three spatial dimensions: nearest, linear, cubic.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type TapTable, resample, resampleBackward } from '../../kernels/resample-kernel.js';
import { resampleBytes } from '../../kernels/resample-uint8.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { denseMeta, imageMeta } from '../../kernels/suggest-format.js';
import { type Interpolation, upsampleTaps } from '../../kernels/upsample-taps.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { NamedArgs } from '../../op/op-record.js';
import { checkGradient, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { planesOf } from '../pool/shape.js';

type Rank = 1 | 2 | 3;

interface Family {
  readonly op: string;
  readonly rank: Rank;
  readonly kind: Interpolation;
}

/** Arguments of an operator of a family: beside the size, `align_corners` and scales of which some have none. */
type SizeArgs = NamedArgs & { readonly output_size: readonly number[] };

/** Names of the scale arguments, outermost dimension first. */
function scaleNames(rank: Rank): string[] {
  return rank === 1 ? ['scales'] : ['scales_d', 'scales_h', 'scales_w'].slice(3 - rank);
}

function hasCorners({ kind }: Family): boolean {
  return !kind.startsWith('nearest');
}

/** @throws shape-mismatch */
function checkSizes(
  { op, rank }: Family,
  input: readonly number[],
  output: readonly number[],
): void {
  const spatial = input.slice(2);
  if (input.length !== rank + 2 || output.length !== rank || input.slice(1).includes(0))
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Non-empty ${rank + 2}D data tensor expected but got a tensor with sizes ${formatSizes(input)}`,
      { hints: [`The input is [N, C, …] with ${rank} spatial dimensions.`] },
    );
  if (spatial.some((size) => size < 1) || output.some((size) => size < 1))
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Input and output sizes should be greater than 0, but got input ${formatSizes(spatial)} output ${formatSizes(output)}`,
      { hints: ['Ask for at least one element per dimension.'] },
    );
}

function tablesOf(
  family: Family,
  input: readonly number[],
  args: SizeArgs,
  like: Tensor,
): TapTable[] {
  const names = scaleNames(family.rank);
  return input.slice(2).map((size, d) =>
    upsampleTaps(
      family.kind,
      {
        input: size,
        output: args.output_size[d]!,
        alignCorners: args.align_corners === true,
        scale: args[names[d]!] ?? null,
      },
      like.dtype,
      family.kind === 'linear' && family.rank === 2,
    ),
  );
}

/** Registers a family and returns its form that takes a size or scales. */
function define(family: Family): OpOverload<Tensor> {
  const { op, rank } = family;
  const corners = hasCorners(family) ? ['bool align_corners'] : [];
  const tail = [...corners, ...scaleNames(rank).map((name) => `float? ${name}=None`)].join(', ');
  const rest = (args: NamedArgs): unknown[] => [
    ...(hasCorners(family) ? [args.align_corners] : []),
    ...scaleNames(rank).map((name) => args[name]),
  ];
  const plain = defineOp(
    `aten::${op}(Tensor self, SymInt[${rank}] output_size, ${tail}) -> Tensor`,
    {
      meta: ({ self, output_size }) => {
        checkSizes(family, self.sizes, output_size);
        // Of integers there are bytes, and those not where lines or volumes are interpolated.
        if (self.dtype !== 'uint8' || (family.kind === 'linear' && rank !== 2))
          checkFloating(op, self);
        return imageMeta(self, [...self.sizes.slice(0, 2), ...output_size]);
      },
      kernel: (args, [out]) => {
        const x = args.self;
        const fixedPoint = x.dtype === 'uint8' && hasCorners(family);
        const tables = tablesOf(family, x.sizes, args, x);
        const run = fixedPoint ? resampleBytes : resample;
        writeNumbers(out!, run(readNumbers(x), planesOf(x, rank), x.sizes.slice(2), tables));
      },
      vjp: (args, { grad }) => ({
        self: () => callOp(backward, [grad, args.output_size, args.self.sizes, ...rest(args)]),
      }),
    },
  );
  const backward: OpOverload<Tensor> = defineOp(
    `aten::${op}_backward(Tensor grad_output, SymInt[${rank}] output_size, SymInt[${rank + 2}] input_size, ${tail}) -> Tensor`,
    {
      meta: ({ grad_output, output_size, input_size }) => {
        checkSizes(family, input_size, output_size);
        checkGradient(op, grad_output, [...input_size.slice(0, 2), ...output_size]);
        const isDense = family.kind === 'cubic' || (family.kind !== 'linear' && rank === 3);
        return isDense ? denseMeta(grad_output, input_size) : imageMeta(grad_output, input_size);
      },
      kernel: (args, [out]) => {
        const grad = args.grad_output;
        const input = args.input_size;
        const tables = tablesOf(family, input, args, grad);
        writeNumbers(
          out!,
          resampleBackward(readNumbers(grad), planesOf(grad, rank), input.slice(2), tables),
        );
      },
      vjp: (args, { grad }) => ({
        grad_output: () => callOp(plain, [grad, args.output_size, ...rest(args)]),
      }),
    },
  );
  return defineVec(family, plain);
}

/** The form that takes a size or scales. */
function defineVec(family: Family, plain: OpOverload<Tensor>): OpOverload<Tensor> {
  const { op, rank } = family;
  return defineOp(
    `aten::${op}.vec(Tensor input, SymInt[]? output_size,${hasCorners(family) ? ' bool align_corners,' : ''} float[]? scale_factors) -> Tensor`,
    {
      decompose: (args) => {
        const { input, output_size: sizes, scale_factors: factors } = args;
        if ((sizes === null) === (factors === null) || (sizes ?? factors)!.length !== rank)
          throw new TesseraError(
            'invalid-argument',
            `${op}: Must specify exactly one of output_size and scale_factors, ${rank} numbers`,
            { hints: ['Give the sizes wanted, or how many times larger the result is.'] },
          );
        const output =
          sizes ?? input.sizes.slice(2).map((size, d) => Math.floor(size * factors![d]!));
        const scales = output.map((_, d) => factors?.[d] ?? null);
        const middle = 'align_corners' in args ? [args.align_corners] : [];
        return callOp(plain, [input, output, ...middle, ...scales]);
      },
    },
  );
}

const RANKS: readonly Rank[] = [1, 2, 3];
const nearest = RANKS.map((rank) =>
  define({ op: `upsample_nearest${rank}d`, rank, kind: 'nearest' }),
);
const nearestExact = RANKS.map((rank) =>
  define({ op: `_upsample_nearest_exact${rank}d`, rank, kind: 'nearest-exact' }),
);
const linear = ['upsample_linear1d', 'upsample_bilinear2d', 'upsample_trilinear3d'].map((op, i) =>
  define({ op, rank: RANKS[i]!, kind: 'linear' }),
);
const cubic = define({ op: 'upsample_bicubic2d', rank: 2, kind: 'cubic' });
const antialiased = {
  linear: define({ op: '_upsample_bilinear2d_aa', rank: 2, kind: 'linear-antialiased' }),
  bicubic: define({ op: '_upsample_bicubic2d_aa', rank: 2, kind: 'cubic-antialiased' }),
};

/** How `upsample` makes the elements between. */
export type UpsampleMode = 'nearest' | 'nearest-exact' | 'linear' | 'bicubic';

/** Parameters of `upsample`; exactly one of the first two. */
export interface UpsampleOptions {
  /** Spatial sizes of the result. */
  readonly outputSize?: readonly number[];
  /** How many times larger the result is, per spatial dimension. */
  readonly scaleFactors?: readonly number[];
  /** `linear` stands for bilinear and trilinear too (default nearest). */
  readonly mode?: UpsampleMode;
  /** Whether the corner elements of input and result fall together (default false). */
  readonly alignCorners?: boolean;
  /** Whether shrinking averages what lies between; for `linear` and `bicubic` in two dimensions. */
  readonly antialias?: boolean;
}

/** Resizes the one to three spatial dimensions of [N, C, …]. @throws shape-mismatch, invalid-argument @see torch.nn.functional.interpolate */
export function upsample(self: Tensor, options: UpsampleOptions): Tensor {
  const { outputSize = null, scaleFactors = null, mode = 'nearest' } = options;
  const at = self.ndim - 3;
  const isImage = self.ndim === 4;
  if (options.antialias === true && (!isImage || !(mode in antialiased)))
    throw new TesseraError(
      'invalid-argument',
      'Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input',
      { hints: ['Leave antialias out.'] },
    );
  const found =
    mode === 'nearest'
      ? nearest[at]
      : mode === 'nearest-exact'
        ? nearestExact[at]
        : options.antialias === true
          ? antialiased[mode]
          : mode === 'linear'
            ? linear[at]
            : isImage
              ? cubic
              : undefined;
  if (found === undefined)
    throw new TesseraError(
      'invalid-argument',
      `upsample: mode '${mode}' does not take a ${self.ndim}-d tensor`,
      {
        hints: ['The input is [N, C, …] with one to three spatial dimensions; bicubic takes two.'],
      },
    );
  const corners = mode.startsWith('nearest') ? [] : [options.alignCorners ?? false];
  return callOp(found, [self, outputSize, ...corners, scaleFactors]);
}
