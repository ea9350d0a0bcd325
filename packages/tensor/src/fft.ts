/**
 * @file `@tessera/tensor/fft`: Fourier transforms, as `torch.fft` is a namespace of its own.
 *
 * `import * as fft from '@tessera/tensor/fft'`, then `fft.rfft(x)`. There are no complex dtypes: a complex number is
 * a pair of its real and imaginary part in a last dimension of 2, as `torch.view_as_real` lays them out, and `dim`
 * does not count that dimension. Transforms compute in double precision, of any length, and have derivatives of every
 * order. They run on the CPU, in compiled functions as calls of these kernels.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import './index.js';
export type { FftNorm } from './ops/fft/arguments.js';
export {
  type FrequencyOptions,
  type ShiftOptions,
  fftfreq,
  fftshift,
  ifftshift,
  rfftfreq,
} from './ops/fft/frequency.js';
export {
  type FftOptions,
  type FftnOptions,
  complex,
  fft,
  fft2,
  fftn,
  hfft,
  hfft2,
  hfftn,
  ifft,
  ifft2,
  ifftn,
  ihfft,
  ihfft2,
  ihfftn,
  irfft,
  irfft2,
  irfftn,
  rfft,
  rfft2,
  rfftn,
} from './ops/fft/transform.js';
export {
  type FrameOptions,
  type IstftOptions,
  type StftOptions,
  istft,
  stft,
} from './ops/fft/short-time.js';
export {
  type HammingWindowOptions,
  type KaiserWindowOptions,
  type WindowOptions,
  bartlettWindow,
  blackmanWindow,
  hammingWindow,
  hannWindow,
  kaiserWindow,
} from './ops/fft/window.js';
