/**
 * @file `interpolate`: resizing of [N, C, …].
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { upsample, checkTensors } from '@tessera/tensor/internal';
import { checkChoice } from '../module/check-options.js';
import { adaptiveAvgPool1d, adaptiveAvgPool2d, adaptiveAvgPool3d } from './adaptive-pool.js';

/** How elements between elements are found; `area` takes means. */
export type InterpolationMode =
  'nearest' | 'nearest-exact' | 'linear' | 'bilinear' | 'bicubic' | 'trilinear' | 'area';

/** Options of `interpolate`: exactly one of size and scaleFactor. */
export interface InterpolateOptions {
  /** Spatial sizes of the result; a number stands for all. */
  readonly size?: number | readonly number[] | null;
  /** How many times larger the result is; a number stands for all dimensions. */
  readonly scaleFactor?: number | readonly number[] | null;
  /** Default `nearest`. */
  readonly mode?: InterpolationMode;
  /** Whether the corner elements of input and result fall together (default false). */
  readonly alignCorners?: boolean | null;
  /** Whether the scale is computed again from the rounded size (default false). */
  readonly recomputeScaleFactor?: boolean | null;
  /** Whether shrinking averages what lies between (default false). */
  readonly antialias?: boolean;
}
const INTERPOLATE: OptionNames<InterpolateOptions> = {
  size: true,
  scaleFactor: true,
  mode: true,
  alignCorners: true,
  recomputeScaleFactor: true,
  antialias: true,
};

const MODES: readonly InterpolationMode[] = [
  'nearest',
  'nearest-exact',
  'linear',
  'bilinear',
  'bicubic',
  'trilinear',
  'area',
];
const RANK_OF: Partial<Record<InterpolationMode, number>> = {
  linear: 3,
  bilinear: 4,
  bicubic: 4,
  trilinear: 5,
};
const AREA = [adaptiveAvgPool1d, adaptiveAvgPool2d, adaptiveAvgPool3d] as const;

function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', `interpolate: ${message}`, { hints: [hint] });
}

/**
 * [N, C, …] with one to three spatial dimensions in another size.
 *
 * @throws invalid-argument, shape-mismatch
 * @see torch.nn.functional.interpolate
 */
export function interpolate(input: Tensor, options: InterpolateOptions = {}): Tensor {
  checkOptionNames('interpolate', options, INTERPOLATE);
  checkTensors('interpolate', { input });
  const { mode = 'nearest', alignCorners = null, antialias = false } = options;
  checkChoice('interpolate', 'mode', mode, MODES);
  const rank = input.ndim - 2;
  const perDimension = (value: number | readonly number[], name: string): readonly number[] => {
    const list = typeof value === 'number' ? Array<number>(rank).fill(value) : value;
    if (list.length === rank) return list;
    return refuse(
      `${name} must have ${rank} numbers for a ${input.ndim}-D input, not ${list.length}`,
      'Give one per spatial dimension.',
    );
  };
  if (alignCorners !== null && (mode.startsWith('nearest') || mode === 'area'))
    refuse(
      'alignCorners can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear',
      'Leave alignCorners out.',
    );
  if ((options.size ?? null) !== null && (options.scaleFactor ?? null) !== null)
    refuse('only one of size or scaleFactor should be defined', 'Leave one out.');
  if (options.size == null && options.scaleFactor == null)
    refuse('either size or scaleFactor should be defined', 'Give one of them.');
  const expected = RANK_OF[mode];
  if (rank < 1 || rank > 3 || (expected !== undefined && expected !== input.ndim))
    refuse(
      `got ${input.ndim}D input, but ${mode} mode needs ${expected === undefined ? '3D, 4D or 5D' : `${expected}D`} input`,
      'The input is [N, C, …].',
    );
  let size = options.size == null ? null : perDimension(options.size, 'size');
  let scale = options.scaleFactor == null ? null : perDimension(options.scaleFactor, 'scaleFactor');
  if (options.recomputeScaleFactor === true && scale === null)
    refuse(
      'recomputeScaleFactor is not meaningful with an explicit size',
      'Leave recomputeScaleFactor out.',
    );
  if (scale !== null && (mode === 'area' || options.recomputeScaleFactor === true)) {
    size = scale.map((factor, i) => Math.floor(input.sizes[i + 2]! * factor));
    scale = null;
  }
  if (mode === 'area') return AREA[rank - 1]!(input, size!);
  return upsample(input, {
    ...(size === null ? { scaleFactors: scale! } : { outputSize: size }),
    mode: mode === 'bilinear' || mode === 'trilinear' ? 'linear' : mode,
    alignCorners: alignCorners ?? false,
    antialias,
  });
}
