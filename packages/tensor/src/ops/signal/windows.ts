/**
 * @file Windows of signals, with the arguments of `torch.signal.windows`: symmetric unless asked for a period.
 *
 * Each is a function of evenly spaced numbers. A period is the window of one element more without the last.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import type { DType } from '../../dtype.js';
import type { Tensor } from '../../tensor.js';
import {
  type TensorOptions,
  TENSOR_OPTIONS,
  finish,
  ones,
  scalarTensor,
  zeros,
} from '../factory/factory.js';
import { linspace } from '../factory/space.js';
import { add, mul, neg } from '../pointwise/arithmetic.js';
import { div } from '../pointwise/division.js';
import { exp, sqrt } from '../pointwise/exponential.js';
import { square } from '../pointwise/power.js';
import { abs } from '../pointwise/rounding.js';
import { rsub } from '../pointwise/rsub.js';
import { i0 } from '../pointwise/modified-bessel-i.js';
import { cos, sin } from '../pointwise/trigonometric.js';

/** Options of every window: those of factories, and whether it is symmetric. */
export interface SignalWindowOptions extends TensorOptions {
  /** Whether the window is symmetric, for filters (default true), or one period, for Fourier transforms. */
  readonly sym?: boolean;
}
const WINDOW: OptionNames<SignalWindowOptions> = { ...TENSOR_OPTIONS, sym: true };

/** What a formula needs besides its own parameters. */
interface Shape {
  readonly length: number;
  readonly sym: boolean;
  /** Evenly spaced numbers, [length]. */
  readonly spaced: (start: number, end: number) => Tensor;
}

/** @throws invalid-argument */
function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [hint] });
}

/**
 * A window by a formula; one of no element is empty, and one of one is 1 unless `single` says that the formula knows.
 *
 * @throws invalid-argument, dtype-unsupported
 */
function windowBy(
  name: string,
  length: number,
  { sym = true, ...options }: SignalWindowOptions,
  formula: (shape: Shape) => Tensor,
  single = true,
): Tensor {
  const dtype: DType = options.dtype ?? defaultDType();
  if (!Number.isInteger(length) || length < 0)
    refuse(
      `${name} requires non-negative window length, got M=${length}`,
      'The length of a window is its number of elements.',
    );
  if (dtype !== 'float32' && dtype !== 'float64')
    throw new TesseraError(
      'dtype-unsupported',
      `${name} expects float32 or float64 dtypes, got: torch.${dtype}`,
      { hints: ["Leave out dtype, or give 'float32' or 'float64'."] },
    );
  const made = { dtype, ...(options.device === undefined ? {} : { device: options.device }) };
  if (length === 0) return finish(zeros([0], made), options);
  if (length === 1 && single) return finish(ones([1], made), options);
  const spaced = (start: number, end: number): Tensor => linspace(start, end, length, made);
  return finish(formula({ length, sym, spaced }), options);
}

/** The distance between neighbours in a window that spans `width`. */
const stepOf = ({ length, sym }: Shape, width: number): number =>
  width / (sym ? length - 1 : length);

/** Options of `generalCosine`. */
export interface GeneralCosineOptions extends SignalWindowOptions {
  /** The coefficients of 1, -cos, cos of twice the angle, … */
  readonly a: readonly number[];
}
const COSINES: OptionNames<GeneralCosineOptions> = { ...WINDOW, a: true };

function sumOfCosines(
  name: string,
  length: number,
  a: readonly number[],
  options: SignalWindowOptions,
): Tensor {
  return windowBy(name, length, options, (shape) => {
    if (a.length === 0) refuse('Coefficients cannot be empty', 'Give at least one number.');
    const angle = shape.spaced(0, (length - 1) * stepOf(shape, 2 * Math.PI));
    return a
      .map((weight, i) => mul(cos(mul(angle, i)), i % 2 === 0 ? weight : -weight))
      .reduce((total, term) => add(total, term));
  });
}

/** Σ (-1)ⁱ aᵢ cos(2πin / N), [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.general_cosine */
export function generalCosine(length: number, options: GeneralCosineOptions): Tensor {
  checkOptionNames('generalCosine', options, COSINES);
  const { a, ...rest }: Partial<GeneralCosineOptions> = options ?? {};
  if (!Array.isArray(a)) refuse('Coefficients must be a list/tuple', 'Write { a: [0.5, 0.5] }.');
  return sumOfCosines('general_cosine', length, a, rest);
}

/** Options of `generalHamming`. */
export interface GeneralHammingOptions extends SignalWindowOptions {
  /** The window is alpha - (1 - alpha) · cos (default 0.54). */
  readonly alpha?: number;
}
const HAMMING: OptionNames<GeneralHammingOptions> = { ...WINDOW, alpha: true };

/** alpha - (1 - alpha) · cos(2πn / N), [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.general_hamming */
export function generalHamming(length: number, options: GeneralHammingOptions = {}): Tensor {
  checkOptionNames('generalHamming', options, HAMMING);
  const { alpha = 0.54, ...rest } = options;
  return sumOfCosines('general_cosine', length, [alpha, 1 - alpha], rest);
}

/** `generalHamming` with 0.54, [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.hamming */
export function hamming(length: number, options: SignalWindowOptions = {}): Tensor {
  checkOptionNames('hamming', options, WINDOW);
  return generalHamming(length, options);
}

/** `generalHamming` with 0.5, 0 at the ends, [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.hann */
export function hann(length: number, options: SignalWindowOptions = {}): Tensor {
  checkOptionNames('hann', options, WINDOW);
  return generalHamming(length, { ...options, alpha: 0.5 });
}

/** `generalCosine` with 0.42, 0.5 and 0.08, [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.blackman */
export function blackman(length: number, options: SignalWindowOptions = {}): Tensor {
  checkOptionNames('blackman', options, WINDOW);
  return sumOfCosines('blackman', length, [0.42, 0.5, 0.08], options);
}

/** `generalCosine` with the four terms of Nuttall's minimum window, [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.nuttall */
export function nuttall(length: number, options: SignalWindowOptions = {}): Tensor {
  checkOptionNames('nuttall', options, WINDOW);
  return sumOfCosines(
    'general_cosine',
    length,
    [0.3635819, 0.4891775, 0.1365995, 0.0106411],
    options,
  );
}

/** A triangle, 0 at the ends, [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.bartlett */
export function bartlett(length: number, options: SignalWindowOptions = {}): Tensor {
  checkOptionNames('bartlett', options, WINDOW);
  return windowBy('bartlett', length, options, (shape) =>
    rsub(abs(shape.spaced(-1, -1 + (length - 1) * stepOf(shape, 2))), 1),
  );
}

/** Half a wave, sin(π(n + ½) / N), [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.cosine */
export function cosine(length: number, options: SignalWindowOptions = {}): Tensor {
  checkOptionNames('cosine', options, WINDOW);
  const formula = ({ sym, spaced }: Shape): Tensor => {
    const step = Math.PI / (!sym && length > 1 ? length + 1 : length);
    return sin(spaced(0.5 * step, (length - 0.5) * step));
  };
  return windowBy('cosine', length, options, formula, false);
}

/** The middle of a window, in elements. */
const middleOf = ({ length, sym }: Shape): number => (!sym && length > 1 ? length : length - 1) / 2;

/** Options of `exponential`. */
export interface ExponentialOptions extends SignalWindowOptions {
  /** Where the window is 1, in elements (default the middle); only of a period. */
  readonly center?: number | null;
  /** In how many elements it falls to 1/e (default 1). */
  readonly tau?: number;
}
const EXPONENTIAL: OptionNames<ExponentialOptions> = { ...WINDOW, center: true, tau: true };

/** exp(-|n - center| / tau), [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.exponential */
export function exponential(length: number, options: ExponentialOptions = {}): Tensor {
  checkOptionNames('exponential', options, EXPONENTIAL);
  const { center = null, tau = 1, ...rest } = options;
  if (!(tau > 0)) refuse(`Tau must be positive, got: ${tau} instead.`, 'It is a length.');
  if (rest.sym !== false && center !== null)
    refuse('Center must be None for symmetric windows', 'Give sym: false with a center.');
  const formula = (shape: Shape): Tensor => {
    const middle = center ?? middleOf(shape);
    return exp(neg(abs(shape.spaced(-middle / tau, (length - 1 - middle) / tau))));
  };
  return windowBy('exponential', length, rest, formula, false);
}

/** Options of `gaussian`. */
export interface GaussianOptions extends SignalWindowOptions {
  /** The standard deviation in elements (default 1). */
  readonly std?: number;
}
const GAUSSIAN: OptionNames<GaussianOptions> = { ...WINDOW, std: true };

/** exp(-(n - middle)² / 2 std²), [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.gaussian */
export function gaussian(length: number, options: GaussianOptions = {}): Tensor {
  checkOptionNames('gaussian', options, GAUSSIAN);
  const { std = 1, ...rest } = options;
  if (!(std > 0))
    refuse(`Standard deviation must be positive, got: ${std} instead.`, 'It is a length.');
  const formula = (shape: Shape): Tensor => {
    const [middle, factor] = [middleOf(shape), 1 / (std * Math.SQRT2)];
    return exp(neg(square(shape.spaced(-middle * factor, (length - 1 - middle) * factor))));
  };
  return windowBy('gaussian', length, rest, formula, false);
}

/** Options of `kaiser`. */
export interface KaiserOptions extends SignalWindowOptions {
  /** How narrow the window is (default 12). */
  readonly beta?: number;
}
const KAISER: OptionNames<KaiserOptions> = { ...WINDOW, beta: true };

/** I₀(√(beta² - k²)) / I₀(beta) of k from -beta to beta, [length]. @throws invalid-argument, dtype-unsupported @see torch.signal.windows.kaiser */
export function kaiser(length: number, options: KaiserOptions = {}): Tensor {
  checkOptionNames('kaiser', options, KAISER);
  const { beta = 12, ...rest } = options;
  if (!(beta >= 0))
    refuse(`beta must be non-negative, got: ${beta} instead.`, 'At 0 all elements are 1.');
  return windowBy('kaiser', length, rest, (shape) => {
    const last = Math.min(beta, -beta + (length - 1) * stepOf(shape, 2 * beta));
    const k = shape.spaced(-beta, last);
    const { dtype, device } = k;
    const width = scalarTensor(beta, { dtype, device });
    return div(i0(sqrt(rsub(square(k), square(width)))), i0(width));
  });
}
