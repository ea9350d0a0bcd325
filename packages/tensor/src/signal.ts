/**
 * @file `@tessera/tensor/signal`: windows of signals, as `torch.signal.windows` is a namespace of its own.
 *
 * `import * as windows from '@tessera/tensor/signal'`, then `windows.hann(400, { sym: false })`. Those that take a
 * `periodic` option, as `torch.hann_window`, are with the Fourier transforms.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import './index.js';
export {
  type ExponentialOptions,
  type GaussianOptions,
  type GeneralCosineOptions,
  type GeneralHammingOptions,
  type KaiserOptions,
  type SignalWindowOptions,
  bartlett,
  blackman,
  cosine,
  exponential,
  gaussian,
  generalCosine,
  generalHamming,
  hamming,
  hann,
  kaiser,
  nuttall,
} from './ops/signal/windows.js';
