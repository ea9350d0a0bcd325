/**
 * @file Short-time Fourier transforms: spectra of windowed frames of a signal, and the signal of given spectra.
 *
 * Modelled on ATen's `stft` and `istft`, with pairs in place of complex numbers. The inverse adds the frames up where
 * they overlap and divides by what their windows' squares add up to, which is the least-squares solution.
 *
 * @see Griffin and Lim, Signal Estimation from Modified Short-Time Fourier Transform, 1984
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { stack } from '../arrange/join.js';
import { mul } from '../pointwise/arithmetic.js';
import { type PadMode, constantPad, pad } from '../resample/pad.js';
import { expand, view } from '../view/view.js';
import { squeeze, transpose, unsqueeze } from '../view/dims.js';
import { narrow, select, slice } from '../view/slice.js';
import { unfold, unfoldBackwardOp } from '../view/unfold.js';
import { pairInput, realInput } from './arguments.js';
import { type Frames, divideByEnvelope, framesOf, refuse, windowOf } from './frames.js';
import { c2c, c2r, r2c } from './primitive.js';

/** 1/√n in either direction if normalized; else the inverse is divided by n. */
function scaleOf(normalized: boolean, forward: boolean): 0 | 1 | 2 {
  if (normalized) return 1;
  return forward ? 0 : 2;
}

/** [B, L] with `count` elements more at both ends. @throws invalid-argument */
function padded(x: Tensor, count: number, mode: string): Tensor {
  return squeeze(pad(unsqueeze(x, 0), [count, count], { mode: mode as PadMode }), 0);
}

/** Windowed frames of a real signal, [B, L] → [B, T, N]. @throws invalid-argument */
function framed(x: Tensor, window: Tensor, { length, hop }: Frames): Tensor {
  const size = x.sizes[1]!;
  if (!(length > 0 && length <= size))
    refuse(
      `stft: expected 0 < nFft <= ${size}, but got nFft ${length}`,
      'A frame of nFft elements fits into the signal, which center: true makes longer by nFft.',
    );
  return mul(unfold(x, 1, length, hop), window);
}

const stftOp: OpOverload<Tensor> = defineOp(
  'tessera::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool pairs=False) -> Tensor',
  {
    decompose: (args) => {
      const { self, n_fft, pairs } = args;
      if (!isFloatingPoint(self.dtype))
        throw new TesseraError(
          'dtype-unsupported',
          `stft: expected a tensor of floating point values, but got ${self.dtype}`,
          { hints: ['Convert first: x.float().'] },
        );
      const x = pairs ? pairInput('stft', self) : realInput('stft', self);
      const ndim = x.ndim - (pairs ? 1 : 0);
      if (ndim !== 1 && ndim !== 2)
        refuse(
          `stft: expected a 1D or 2D tensor, but got ${formatSizes(self.sizes)}`,
          'Give one signal [L] or several [B, L]; of complex numbers [.., L, 2] with pairs: true.',
        );
      const onesided = args.onesided ?? !pairs;
      if (onesided && pairs)
        refuse(
          'stft: cannot have onesided output if the input is complex',
          'Leave out `onesided`.',
        );
      const frames = framesOf('stft', n_fft, args.hop_length, args.win_length);
      const window = windowOf('stft', args.window, frames, x);
      const signals = ndim === 1 ? unsqueeze(x, 0) : x;
      const spectra = (part: Tensor): Tensor => {
        const whole = args.center ? padded(part, n_fft >> 1, args.pad_mode) : part;
        return framed(whole, window, frames);
      };
      const scale = scaleOf(args.normalized, true);
      const parts = pairs
        ? [spectra(select(signals, -1, 0)), spectra(select(signals, -1, 1))]
        : [spectra(signals)];
      const [real, imaginary = mul(real!, 0)] = parts;
      const out = onesided
        ? r2c(real!, [2], scale)
        : c2c(stack([real!, imaginary], -1), [2], scale, true);
      const turned = transpose(out, 1, 2);
      return ndim === 1 ? squeeze(turned, 0) : turned;
    },
  },
);

/** Frames added up where they overlap, [B, T, N] → [B, size]. */
function overlapped(x: Tensor, size: number, { length, hop }: Frames): Tensor {
  return callOp(unfoldBackwardOp, [x, [x.sizes[0]!, size], 1, length, hop]);
}

const istftOp: OpOverload<Tensor> = defineOp(
  'tessera::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool pairs=False) -> Tensor',
  {
    decompose: (args) => {
      const { n_fft, center, length, pairs } = args;
      const given = pairInput('istft', args.self);
      if ((given.ndim !== 3 && given.ndim !== 4) || given.numel === 0)
        refuse(
          `istft: expected spectra [.., frequencies, frames, 2], not empty, but got ${formatSizes(given.sizes)}`,
          'Give one spectrogram or a batch, as stft returns them.',
        );
      const z = given.ndim === 3 ? unsqueeze(given, 0) : given;
      const [, frequencies, count] = z.sizes;
      const onesided = args.onesided ?? frequencies !== n_fft;
      const expected = onesided ? (n_fft >> 1) + 1 : n_fft;
      if (frequencies !== expected)
        refuse(
          `istft: expected the frequency dimension (3rd to the last) to match nFft ${onesided ? `/ 2 + 1` : ''} = ${expected} when onesided is ${onesided}, but got ${frequencies}`,
          'nFft and onesided are those of the stft.',
        );
      if (onesided && pairs)
        refuse('istft: cannot have onesided input if the output is complex', 'Leave out `pairs`.');
      const frames = framesOf('istft', n_fft, args.hop_length, args.win_length);
      if (frames.hop > frames.window)
        refuse(
          `istft: expected 0 < hopLength <= winLength ${frames.window}, but got ${frames.hop}`,
          'Frames further apart than windows are long leave elements that nothing is known of.',
        );
      const window = windowOf('istft', args.window, frames, z);
      const turned = transpose(z, 1, 2);
      const scale = scaleOf(args.normalized, false);
      const size = n_fft + frames.hop * (count - 1);
      const start = center ? n_fft >> 1 : 0;
      const end = length === null ? size - start : start + length;
      if (end <= start)
        refuse(
          `istft: nothing is left of ${size} elements from ${start} to ${end}`,
          'Give more frames or a length above 0; center: true cuts half a frame off at both ends.',
        );
      const result = (part: Tensor): Tensor =>
        slice(overlapped(mul(part, window), size, frames), 1, start, Math.min(end, size));
      const squares = expand(mul(window, window), [1, count, n_fft]);
      const sums = slice(overlapped(squares, size, frames), 1, start, Math.min(end, size));
      const envelope = view(sums, [sums.sizes[1]!]);
      const finished = (part: Tensor): Tensor => {
        const divided = divideByEnvelope(result(part), envelope);
        return end > size ? constantPad(divided, [0, end - size]) : divided;
      };
      let out: Tensor;
      if (pairs) {
        const values = c2c(turned, [2], scale, false);
        out = stack([finished(select(values, -1, 0)), finished(select(values, -1, 1))], -1);
      } else {
        const half = onesided ? turned : narrow(turned, 2, 0, (n_fft >> 1) + 1);
        out = finished(c2r(half, [2], scale, n_fft));
      }
      return given.ndim === 3 ? squeeze(out, 0) : out;
    },
  },
);

/** Options that `stft` and `istft` have in common. */
export interface FrameOptions {
  /** Elements from the start of a frame to that of the next (default ⌊nFft / 4⌋). */
  readonly hopLength?: number | null;
  /** Length of the window, which is in the middle of a frame with zeros around (default nFft). */
  readonly winLength?: number | null;
  /** The window, [winLength]; ones by default. `hannWindow(nFft)` is usual. */
  readonly window?: Tensor | null;
  /** Whether frame t is centred on element t · hopLength (default true), or starts there. */
  readonly center?: boolean;
  /** Whether both directions are divided by √nFft (default false: the inverse by nFft). */
  readonly normalized?: boolean;
  /** Whether only the first half of frequencies is there, as for real signals: the other is its conjugate. */
  readonly onesided?: boolean | null;
}

/** Options of `stft`. */
export interface StftOptions extends FrameOptions {
  /** How the ends are filled if frames are centred (default 'reflect'). */
  readonly padMode?: PadMode;
  /** Whether the signal is complex: pairs in a last dimension of 2 (default false). */
  readonly pairs?: boolean;
}
const STFT: OptionNames<StftOptions> = {
  hopLength: true,
  winLength: true,
  window: true,
  center: true,
  padMode: true,
  normalized: true,
  onesided: true,
  pairs: true,
};

/** Options of `istft`. */
export interface IstftOptions extends FrameOptions {
  /** Length of the result, cut or filled up with zeros to it (default: what the frames cover). */
  readonly length?: number | null;
  /** Whether the result is complex: pairs in a last dimension of 2 (default false). */
  readonly pairs?: boolean;
}
const ISTFT: OptionNames<IstftOptions> = {
  hopLength: true,
  winLength: true,
  window: true,
  center: true,
  normalized: true,
  onesided: true,
  length: true,
  pairs: true,
};

/**
 * Spectra of overlapping frames of nFft elements, [.., L] → [.., ⌊nFft/2⌋ + 1, T, 2] with the frames T last but for
 * the pairs: 1 + ⌊L / hopLength⌋ of them (centred, even nFft). All nFft frequencies with `onesided: false` and of
 * complex signals.
 *
 * @throws shape-mismatch, dtype-unsupported, invalid-argument
 * @see torch.stft
 */
export function stft(self: Tensor, nFft: number, options: StftOptions = {}): Tensor {
  checkOptionNames('stft', options, STFT);
  const { hopLength = null, winLength = null, window = null, center = true } = options;
  const { padMode = 'reflect', normalized = false, onesided = null, pairs = false } = options;
  return callOp(stftOp, [
    self,
    nFft,
    hopLength,
    winLength,
    window,
    center,
    padMode,
    normalized,
    onesided,
    pairs,
  ]);
}

/**
 * The signal whose `stft` is nearest to given spectra, [.., F, T, 2] → [.., hopLength · (T - 1)] (centred): exactly
 * the one that `stft` with the same options was made of, wherever windows overlap.
 *
 * @throws shape-mismatch, dtype-unsupported, invalid-argument, the last also if windows add up to 0 somewhere
 * @see torch.istft
 */
export function istft(self: Tensor, nFft: number, options: IstftOptions = {}): Tensor {
  checkOptionNames('istft', options, ISTFT);
  const { hopLength = null, winLength = null, window = null, center = true } = options;
  const { normalized = false, onesided = null, length = null, pairs = false } = options;
  return callOp(istftOp, [
    self,
    nFft,
    hopLength,
    winLength,
    window,
    center,
    normalized,
    onesided,
    length,
    pairs,
  ]);
}
