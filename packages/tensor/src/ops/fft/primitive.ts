/**
 * @file The three transforms that all others are made of: complex to complex, real to complex, complex to real.
 *
 * Complex numbers are pairs in a last dimension of 2, as `torch.view_as_real` lays them out. `dim` counts dimensions
 * without that one and is not negative. `normalization` is ATen's: 0 for none, 1 for 1/√n, 2 for 1/n, where n is the
 * number of elements transformed. Modelled on ATen's `_fft_c2c`, `_fft_r2c` and `_fft_c2r`.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import {
  type FftScale,
  complexAlong,
  fftFactor,
  halfAlong,
  realAlong,
} from '../../kernels/fft-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { contiguousStrides } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { cat } from '../arrange/join.js';
import { zeros } from '../factory/factory.js';
import { mul } from '../pointwise/arithmetic.js';
import { narrow, select } from '../view/slice.js';
import { expandedC2c, expandedC2r, expandedR2c } from './expand.js';

function metaOf(sizes: readonly number[], { dtype, device }: Tensor): TensorMeta {
  return { sizes, strides: contiguousStrides(sizes), dtype, device };
}

/** Sizes with another one in a dimension. */
function withSize(sizes: readonly number[], dim: number, size: number): number[] {
  return sizes.map((each, d) => (d === dim ? size : each));
}

function countOf(sizes: readonly number[], dims: readonly number[]): number {
  return dims.reduce((count, dim) => count * sizes[dim]!, 1);
}

const c2cOp: OpOverload<Tensor> = defineOp(
  'tessera::fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self }) => metaOf(self.sizes, self),
    kernel: ({ self, dim, normalization, forward }, [out]) => {
      const sizes = out!.sizes.slice(0, -1);
      const values = readNumbers(self);
      const factor = fftFactor(normalization, countOf(sizes, dim));
      dim.forEach((d, i) => complexAlong(values, sizes, d, forward, i === 0 ? factor : 1));
      writeNumbers(out!, values);
    },
    expand: ({ self, dim, normalization, forward }) =>
      self.numel === 0 ? null : expandedC2c(self, dim, normalization, forward),
    // The matrix of the transform is symmetric; its conjugate is that of the other direction.
    vjp: ({ dim, normalization, forward }, { grad }) => ({
      self: () => callOp(c2cOp, [grad, dim, normalization, forward !== true]),
    }),
  },
);

const r2cOp: OpOverload<Tensor> = defineOp(
  'tessera::fft_r2c(Tensor self, int[] dim, int normalization) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self, dim }) => {
      const sizes = self.sizes;
      const last = dim.at(-1)!;
      return metaOf([...withSize(sizes, last, (sizes[last]! >> 1) + 1), 2], self);
    },
    kernel: ({ self, dim, normalization }, [out]) => {
      const factor = fftFactor(normalization, countOf(self.sizes, dim));
      const values = realAlong(readNumbers(self), self.sizes, dim.at(-1)!, factor);
      const sizes = out!.sizes.slice(0, -1);
      for (const d of dim.slice(0, -1)) complexAlong(values, sizes, d, true, 1);
      writeNumbers(out!, values);
    },
    expand: ({ self, dim, normalization }) =>
      self.numel === 0 ? null : expandedR2c(self, dim, normalization),
    // What is not there receives nothing; of the input there is a real part only.
    vjp: ({ self, dim, normalization }, { grad }) => ({
      self: () => {
        const last = dim.at(-1)!;
        const missing = self.sizes[last]! - grad.sizes[last]!;
        const rest = zeros(withSize(grad.sizes, last, missing), {
          dtype: grad.dtype,
          device: grad.device,
        });
        const whole = missing === 0 ? grad : cat([grad, rest], last);
        return select(callOp(c2cOp, [whole, dim, normalization, false]), -1, 0);
      },
    }),
  },
);

const c2rOp: OpOverload<Tensor> = defineOp(
  'tessera::fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self, dim, last_dim_size }) => {
      const sizes = self.sizes.slice(0, -1);
      return metaOf(withSize(sizes, dim.at(-1)!, last_dim_size), self);
    },
    kernel: ({ self, dim, normalization }, [out]) => {
      const half = self.sizes.slice(0, -1);
      const given = readNumbers(self);
      for (const d of dim.slice(0, -1)) complexAlong(given, half, d, false, 1);
      const { sizes } = out!;
      const factor = fftFactor(normalization, countOf(sizes, dim));
      writeNumbers(out!, halfAlong(given, sizes, dim.at(-1)!, factor));
    },
    expand: ({ self, dim, normalization, last_dim_size }) =>
      self.numel === 0 ? null : expandedC2r(self, dim, normalization, last_dim_size),
    vjp: ({ dim, normalization }, { grad }) => ({
      self: () => {
        const last = dim.at(-1)!;
        const half = callOp(r2cOp, [grad, dim, normalization]);
        // Those inside count twice: once for their conjugates.
        const twice = grad.sizes[last]! - half.sizes[last]!;
        if (twice <= 0) return half;
        const rest = half.sizes[last]! - 1 - twice;
        const parts = [narrow(half, last, 0, 1), mul(narrow(half, last, 1, twice), 2)];
        if (rest > 0) parts.push(narrow(half, last, 1 + twice, rest));
        return cat(parts, last);
      },
    }),
  },
);

/** Complex to complex, of pairs. */
export function c2c(
  self: Tensor,
  dim: readonly number[],
  scale: FftScale,
  forward: boolean,
): Tensor {
  return callOp(c2cOp, [self, dim, scale, forward]);
}

/** Real to half of the complex result, as pairs. */
export function r2c(self: Tensor, dim: readonly number[], scale: FftScale): Tensor {
  return callOp(r2cOp, [self, dim, scale]);
}

/** Half of a complex spectrum, as pairs, back to `lastSize` real numbers. */
export function c2r(
  self: Tensor,
  dim: readonly number[],
  scale: FftScale,
  lastSize: number,
): Tensor {
  return callOp(c2rOp, [self, dim, scale, lastSize]);
}
