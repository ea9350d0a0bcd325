/**
 * @file Windows for short-time Fourier transforms: weights of a frame's elements, low at its ends.
 *
 * Periodic windows (the default) are those of one element more without the last: repeated, they have no two equal
 * elements side by side. Modelled on `torch.hann_window` and its siblings.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import { isFloatingPoint } from '../../dtype.js';
import type { Tensor } from '../../tensor.js';
import {
  type TensorOptions,
  TENSOR_OPTIONS,
  finish,
  ones,
  scalarTensor,
} from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { mul, sub } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { div } from '../pointwise/division.js';
import { sqrt } from '../pointwise/exponential.js';
import { clamp } from '../pointwise/extremum.js';
import { abs } from '../pointwise/rounding.js';
import { i0 } from '../pointwise/modified-bessel-i.js';
import { cos } from '../pointwise/trigonometric.js';
import { narrow } from '../view/slice.js';

/** Options of windows: those of factories, and whether the window is one period of a function. */
export interface WindowOptions extends TensorOptions {
  /** Whether the window goes on at its start, for Fourier transforms (default true), or is symmetric, for filters. */
  readonly periodic?: boolean;
}
const WINDOW: OptionNames<WindowOptions> = { ...TENSOR_OPTIONS, periodic: true };

/** Options of `hammingWindow`: it is alpha - beta · cos. */
export interface HammingWindowOptions extends WindowOptions {
  /** Default 0.54. */
  readonly alpha?: number;
  /** Default 0.46. */
  readonly beta?: number;
}
const HAMMING: OptionNames<HammingWindowOptions> = { ...WINDOW, alpha: true, beta: true };

/** Options of `kaiserWindow`. */
export interface KaiserWindowOptions extends WindowOptions {
  /** How narrow the window is (default 12). */
  readonly beta?: number;
}
const KAISER: OptionNames<KaiserWindowOptions> = { ...WINDOW, beta: true };

/** A window from 0, 1, …, `last`, of a period that ends at `last`. @throws invalid-argument, dtype-unsupported */
function windowOf(
  name: string,
  length: number,
  { periodic = true, ...options }: WindowOptions,
  formula: (places: Tensor, last: number) => Tensor,
): Tensor {
  const dtype = options.dtype ?? defaultDType();
  if (!Number.isInteger(length) || length < 0)
    throw new TesseraError(
      'invalid-argument',
      `${name}: expected a length of 0 or more, but got ${length}`,
      {
        hints: ['The length of a window is its number of elements.'],
      },
    );
  if (!isFloatingPoint(dtype))
    throw new TesseraError(
      'dtype-unsupported',
      `${name} expects floating point dtypes, got: ${dtype}`,
      {
        hints: ["Leave out dtype, or give 'float32' or 'float64'."],
      },
    );
  if (length < 2) return ones([length], { ...options, dtype });
  const whole = periodic ? length + 1 : length;
  const { device } = options;
  const places = arange(0, whole, 1, device === undefined ? { dtype } : { dtype, device });
  const window = formula(places, whole - 1);
  return finish(periodic ? narrow(window, 0, 0, length).contiguous() : window, options);
}

/** cos(2π · `turns` · n / last) */
function wave(places: Tensor, last: number, turns = 1): Tensor {
  return cos(mul(places, (2 * Math.PI * turns) / last));
}

/** (1 - cos(2πn / N)) / 2, [length]: 0 at the ends. @throws invalid-argument, dtype-unsupported @see torch.hann_window */
export function hannWindow(length: number, options: WindowOptions = {}): Tensor {
  checkOptionNames('hannWindow', options, WINDOW);
  return windowOf('hannWindow', length, options, (n, last) => rsub(mul(wave(n, last), 0.5), 0.5));
}

/** alpha - beta · cos(2πn / N), [length]. @throws invalid-argument, dtype-unsupported @see torch.hamming_window */
export function hammingWindow(length: number, options: HammingWindowOptions = {}): Tensor {
  checkOptionNames('hammingWindow', options, HAMMING);
  const { alpha = 0.54, beta = 0.46, ...rest } = options;
  return windowOf('hammingWindow', length, rest, (n, last) =>
    rsub(mul(wave(n, last), beta), alpha),
  );
}

/** 0.42 - 0.5 cos(2πn / N) + 0.08 cos(4πn / N), [length]. @throws invalid-argument, dtype-unsupported @see torch.blackman_window */
export function blackmanWindow(length: number, options: WindowOptions = {}): Tensor {
  checkOptionNames('blackmanWindow', options, WINDOW);
  return windowOf('blackmanWindow', length, options, (n, last) =>
    sub(mul(wave(n, last, 2), 0.08), mul(wave(n, last), 0.5)).add(0.42),
  );
}

/** A triangle, 1 - |2n / N - 1|, [length]. @throws invalid-argument, dtype-unsupported @see torch.bartlett_window */
export function bartlettWindow(length: number, options: WindowOptions = {}): Tensor {
  checkOptionNames('bartlettWindow', options, WINDOW);
  return windowOf('bartlettWindow', length, options, (n, last) =>
    rsub(abs(sub(mul(n, 2 / last), 1)), 1),
  );
}

/** I₀(beta · √(1 - (2n / N - 1)²)) / I₀(beta), [length]. @throws invalid-argument, dtype-unsupported @see torch.kaiser_window */
export function kaiserWindow(length: number, options: KaiserWindowOptions = {}): Tensor {
  checkOptionNames('kaiserWindow', options, KAISER);
  const { beta = 12, ...rest } = options;
  return windowOf('kaiserWindow', length, rest, (n, last) => {
    const x = sub(mul(n, 2 / last), 1);
    const inside = clamp(rsub(mul(x, x), 1), 0);
    const { dtype, device } = n;
    return div(i0(mul(sqrt(inside), beta)), i0(scalarTensor(beta, { dtype, device })));
  });
}
