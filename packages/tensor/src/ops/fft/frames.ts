/**
 * @file What `stft` and `istft` have in common: the checks of a frame's length, the distance between frames and the
 * window, and the division that ends `istft`.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { contiguousStrides, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { ones } from '../factory/factory.js';
import { div } from '../pointwise/division.js';
import { mul, neg } from '../pointwise/arithmetic.js';
import { constantPad } from '../resample/pad.js';
import { realInput } from './arguments.js';
import { quietly } from './quietly.js';

/** Frames of `length` elements that start `hop` elements apart, of which the window covers `window` in the middle. */
export interface Frames {
  readonly length: number;
  readonly hop: number;
  readonly window: number;
}

/** @throws invalid-argument always */
export function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** Frames with PyTorch's defaults: a quarter of a frame apart, the window as long as a frame. @throws invalid-argument */
export function framesOf(
  name: string,
  length: number,
  hop: number | null,
  window: number | null,
): Frames {
  const frames = { length, hop: hop ?? Math.floor(length / 4), window: window ?? length };
  if (!(frames.hop > 0))
    refuse(
      `${name}: expected hopLength > 0, but got ${frames.hop}`,
      'hopLength is the distance between frames in elements, ⌊nFft / 4⌋ if it is not given.',
    );
  if (!(frames.window > 0 && frames.window <= length))
    refuse(
      `${name}: expected 0 < winLength <= nFft, but got winLength ${frames.window} and nFft ${length}`,
      'A window is at most as long as a frame.',
    );
  return frames;
}

/** The window of a whole frame, [length]: ones if none is given, with zeros around if it is shorter. @throws shape-mismatch, dtype-unsupported */
export function windowOf(
  name: string,
  given: Tensor | null,
  frames: Frames,
  { dtype, device }: Tensor,
): Tensor {
  if (given !== null && (given.ndim !== 1 || given.sizes[0] !== frames.window))
    throw new TesseraError(
      'shape-mismatch',
      `${name}: expected a 1D window tensor of size equal to winLength ${frames.window}, but got window with size ${formatSizes(given.sizes)}`,
      { hints: ['Give winLength with a window that is shorter than a frame.'] },
    );
  const window = given === null ? ones([frames.window], { dtype, device }) : realInput(name, given);
  const rest = frames.length - frames.window;
  const before = Math.floor(rest / 2);
  return rest === 0 ? window : constantPad(window, [before, rest - before]);
}

const divideByEnvelopeOp: OpOverload<Tensor> = defineOp(
  'tessera::divide_by_envelope(Tensor self, Tensor envelope) -> Tensor',
  {
    meta: ({ self: { sizes, dtype, device } }) => ({
      sizes,
      strides: contiguousStrides(sizes),
      dtype,
      device,
    }),
    kernel: ({ self, envelope }, [out]) => {
      const lowest = readNumbers(envelope).reduce((a, b) => Math.min(a, Math.abs(b)), Infinity);
      if (lowest < 1e-11)
        refuse(
          `istft: window overlap add min: ${lowest}`,
          'Windows of all frames, squared and added up, must be above 0 at every element: choose a smaller hopLength, or a window that is not 0 at its ends. With center: true the ends are not part of the result.',
        );
      const values = readNumbers(self);
      const divisors = readNumbers(envelope, self.sizes);
      writeNumbers(
        out!,
        values.map((value, i) => value / divisors[i]!),
      );
    },
    // Other devices are read asynchronously: there what windows do not cover becomes infinite or NaN.
    expand: ({ self, envelope }) =>
      self.device === 'cpu' ? null : quietly(() => contiguous(div(self, envelope))),
    savedFor: { self: ['envelope'], envelope: ['self', 'envelope'] },
    vjp: ({ self, envelope }, { grad }) => ({
      self: () => div(grad, envelope),
      envelope: () => neg(div(mul(grad, self), mul(envelope, envelope))),
    }),
  },
);

/**
 * [.., L] / [L], where the second is what the squares of all windows add up to. An operator, since whether it may be
 * divided by is known when it runs, also in a compiled function.
 *
 * @throws invalid-argument when it runs on the CPU, if any divisor is 0
 */
export function divideByEnvelope(self: Tensor, envelope: Tensor): Tensor {
  return callOp(divideByEnvelopeOp, [self, envelope]);
}
