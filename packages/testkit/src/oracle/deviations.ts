/**
 * @file Where an operator is compared otherwise than by PyTorch's default tolerances, and why.
 */
import type { DType } from '@tessera/tensor';
import type { Tolerance } from '../assert-close.js';

/** What to leave out or loosen for an operator. */
export interface CaseDeviation {
  readonly reason: string;
  /** Outputs whose values PyTorch leaves unspecified (all: true). */
  readonly unspecified?: boolean | readonly number[];
  /** PyTorch lost elements itself: where it has NaN, any value will do. */
  readonly lostAsNaN?: boolean;
  /** Draws random numbers: results and gradients are compared by shape, dtype and stride only. */
  readonly random?: boolean;
  /** The same, for calls with these arguments only. */
  readonly randomIf?: (args: Readonly<Record<string, unknown>>) => boolean;
  readonly tolerance?: Partial<Record<DType, Tolerance>>;
  readonly gradTolerance?: Partial<Record<DType, Tolerance>>;
  /** Arguments whose gradient is not compared. */
  readonly skipGradientOf?: readonly string[];
}

const UNINITIALIZED: CaseDeviation = { reason: 'memory is not initialised', unspecified: true };
const RANDOM: CaseDeviation = {
  reason: 'random numbers come from another generator',
  random: true,
};
const HALF_VARIANCE: CaseDeviation = {
  reason: 'PyTorch sums the squares of a bfloat16 column in 16 bits, the reference kernel in 64',
  tolerance: { bfloat16: { rtol: 2.5e-2, atol: 1e-5 } },
};
const HALF_SOFTMAX: CaseDeviation = {
  reason: 'PyTorch rounds x - max - log(sum) to 16 bits between the steps for the last dimension',
  tolerance: { float16: { rtol: 2e-2, atol: 1e-3 }, bfloat16: { rtol: 5e-2, atol: 1e-2 } },
};
const HALF_ACCUMULATION: CaseDeviation = {
  reason: 'PyTorch accumulates in 16 bits, the reference kernel in 64',
  tolerance: { float16: { rtol: 5e-3, atol: 3e-2 }, bfloat16: { rtol: 3e-2, atol: 1e-1 } },
};
const LONG_SUMS: CaseDeviation = {
  reason:
    'sums of hundreds of products are accumulated in 32 bits by PyTorch, in 64 by the reference kernel',
  tolerance: { float32: { rtol: 1e-5, atol: 5e-5 } },
  gradTolerance: { float32: { rtol: 1e-5, atol: 1e-4 } },
};

/** Operators that are sums of products. */
const PRODUCTS = [
  'mm.default',
  'mv.default',
  'bmm.default',
  'addmm.default',
  'addmv.default',
  'addbmm.default',
  'baddbmm.default',
  'linear.default',
  'matmul.default',
  'einsum.default',
  'tensordot.default',
  'conv1d.default',
  'conv1d.padding',
  'conv2d.default',
  'conv2d.padding',
  'conv3d.default',
  'conv3d.padding',
  'convolution.default',
  'convolution_backward.default',
];
const TRANSPOSED_CONVOLUTION: CaseDeviation = {
  reason: `${LONG_SUMS.reason}; ${HALF_ACCUMULATION.reason}`,
  tolerance: { ...HALF_ACCUMULATION.tolerance, ...LONG_SUMS.tolerance },
  gradTolerance: LONG_SUMS.gradTolerance,
};
const ROUNDING_NOISE: CaseDeviation = {
  reason: 'normalising a single element leaves only rounding noise, multiplied by 1/sqrt(eps)',
  tolerance: { float32: { rtol: 1.3e-6, atol: 5e-4 }, bfloat16: { rtol: 1.6e-2, atol: 2e-3 } },
  gradTolerance: { float32: { rtol: 1.3e-6, atol: 5e-4 } },
};

const LARGE_SCORES: CaseDeviation = {
  reason:
    'scores of up to 85 are rounded to 32 bits before the exponential; gradients of both sides are up to 1.4e-5 from those in 64 bits, and 16-bit results are rounded in other places',
  tolerance: { float32: { rtol: 1e-5, atol: 1e-4 }, float16: { rtol: 5e-3, atol: 1e-3 } },
  gradTolerance: { float32: { rtol: 1e-5, atol: 1e-4 } },
};

const BICUBIC_SAMPLING: CaseDeviation = {
  reason:
    'bicubic: PyTorch rounds each of 16 terms of alternating sign to the type of the image, where the result is small against them',
  tolerance: {
    float32: { rtol: 1e-5, atol: 5e-5 },
    float16: { rtol: 1e-2, atol: 5e-2 },
    bfloat16: { rtol: 5e-2, atol: 3e-1 },
  },
  gradTolerance: { float32: { rtol: 1e-5, atol: 1e-4 } },
};

const HALF_SCATTER: CaseDeviation = {
  reason:
    'elements that meet are added in 16 bits one after the other by PyTorch, in 32 by compiled code, which rounds once',
  tolerance: { float16: { rtol: 1e-2, atol: 3e-2 }, bfloat16: { rtol: 8e-2, atol: 1e-1 } },
};
const MATRIX_SERIES: CaseDeviation = {
  reason:
    'PyTorch sums the series of the exponential in 32 bits (in 16 for 16-bit types, where it ends in NaN), the reference kernel in 64; elements are up to 5,000',
  lostAsNaN: true,
  tolerance: { float32: { rtol: 1e-5, atol: 1e-3 } },
  gradTolerance: { float32: { rtol: 1e-5, atol: 1e-3 } },
};

/**
 * Compiled code keeps 32 bits between the operations that it fuses, where eager code (and so the record) rounds
 * to 16 after each; PyTorch's own compiler does the same and allows as much.
 */
const FUSED_HALF: Readonly<Partial<Record<DType, Tolerance>>> = {
  float16: { rtol: 1e-2, atol: 2e-3 },
  bfloat16: { rtol: 2e-2, atol: 2e-2 },
};

const CANCELLING_PRODUCTS: CaseDeviation = {
  reason:
    'differences of products of up to 80, which eager code rounds to 16 bits and fused code does not',
  tolerance: { bfloat16: { rtol: 2e-2, atol: 1e-1 } },
};
const BATCHES_IN_ONE_SUM: CaseDeviation = {
  reason:
    'eager code rounds the sum after every batch, compiled code sums the products of all batches',
  tolerance: {
    float32: { rtol: 1e-5, atol: 5e-5 },
    float16: { rtol: 1e-2, atol: 6e-2 },
    bfloat16: { rtol: 3e-2, atol: 5e-1 },
  },
};
const TERMS_IN_HALF: CaseDeviation = {
  reason: 'eager code rounds each of 8 weighted terms to 16 bits, fused code their sum',
  tolerance: { float16: { rtol: 1e-2, atol: 3e-2 }, bfloat16: { rtol: 2e-2, atol: 3e-2 } },
};

/** What applies to compiled modes only, by display name. */
const COMPILED_DEVIATIONS: Readonly<Record<string, CaseDeviation>> = {
  'aten.cross.default': CANCELLING_PRODUCTS,
  'aten.linalg_cross.default': CANCELLING_PRODUCTS,
  'aten.addbmm.default': BATCHES_IN_ONE_SUM,
  'aten.addbmm_.default': BATCHES_IN_ONE_SUM,
  'aten.convolution_backward.default': {
    reason:
      'sums of hundreds of products are accumulated in 32 bits, in another order than PyTorch',
    tolerance: { float32: { rtol: 1e-5, atol: 5e-5 } },
  },
  'aten.upsample_trilinear3d.default': TERMS_IN_HALF,
  'aten.upsample_trilinear3d.vec': TERMS_IN_HALF,
};

/** The deviation of a call in a compiled mode: the wider of its own tolerance and what fusing needs. */
export function fusedDeviation(op: string, known: CaseDeviation | undefined): CaseDeviation {
  const deviation: CaseDeviation | undefined = COMPILED_DEVIATIONS[op] ?? known;
  const widened = (own: CaseDeviation['tolerance']): CaseDeviation['tolerance'] => {
    const result = { ...own };
    for (const [key, fused] of Object.entries(FUSED_HALF)) {
      const known = own?.[key as DType];
      result[key as DType] = {
        rtol: Math.max(known?.rtol ?? 0, fused.rtol),
        atol: Math.max(known?.atol ?? 0, fused.atol),
      };
    }
    return result;
  };
  const { tolerance, gradTolerance } = deviation ?? {};
  return {
    ...deviation,
    reason: deviation?.reason ?? 'fused code rounds to 16 bits once',
    tolerance: widened(tolerance),
    gradTolerance: widened(gradTolerance ?? tolerance),
  };
}

/** By display name. */
export const KNOWN_DEVIATIONS: Readonly<Record<string, CaseDeviation>> = {
  'aten.linalg_matrix_exp.default': MATRIX_SERIES,
  'aten.matrix_exp.default': MATRIX_SERIES,
  'aten._linalg_svd.default': {
    reason:
      'the signs of singular vectors are whatever the algorithm leaves: the bidiagonal QR of LAPACK there, Jacobi rotations here; tests check that the factors are orthogonal and give the matrix',
    unspecified: [0, 2],
    skipGradientOf: ['A'],
  },
  'aten.empty.memory_format': UNINITIALIZED,
  'aten.empty_like.default': UNINITIALIZED,
  'aten.new_empty.default': UNINITIALIZED,
  'aten.new_empty_strided.default': UNINITIALIZED,
  'aten.bernoulli_.float': RANDOM,
  'aten.dropout.default': RANDOM,
  'aten._unsafe_masked_index_put_accumulate.default': HALF_SCATTER,
  'aten.kthvalue.default': {
    reason: 'which of several equal elements is named depends on the algorithm of the device',
    unspecified: [1],
  },
  'aten.cumulative_trapezoid.dx': {
    reason: 'PyTorch rounds the areas to 16 bits before it adds them; fused code keeps 32',
    tolerance: { float16: { rtol: 2e-3, atol: 1e-3 } },
  },
  'aten.topk.default': {
    reason: 'which of several equal elements is listed is unspecified',
    unspecified: [1],
  },
  'aten._scaled_dot_product_flash_attention_for_cpu.default': LARGE_SCORES,
  'aten._scaled_dot_product_flash_attention_for_cpu_backward.default': LARGE_SCORES,
  'aten.scaled_dot_product_attention.default': {
    ...LARGE_SCORES,
    randomIf: ({ dropout_p }) => Number(dropout_p ?? 0) > 0,
  },
  'aten.grid_sampler.default': BICUBIC_SAMPLING,
  'aten.grid_sampler_2d.default': BICUBIC_SAMPLING,
  'aten.grid_sampler_2d_backward.default': BICUBIC_SAMPLING,
  'aten._log_softmax.default': HALF_SOFTMAX,
  'aten.log_softmax.int': HALF_SOFTMAX,
  'aten._native_batch_norm_legit.default': HALF_VARIANCE,
  'aten.batch_norm.default': HALF_VARIANCE,
  'aten._adaptive_avg_pool3d.default': HALF_ACCUMULATION,
  'aten.adaptive_avg_pool3d.default': HALF_ACCUMULATION,
  'aten.conv_transpose2d.input': TRANSPOSED_CONVOLUTION,
  'aten.conv_transpose3d.input': TRANSPOSED_CONVOLUTION,
  ...Object.fromEntries(PRODUCTS.map((name) => [`aten.${name}`, LONG_SUMS])),
  'aten.conv_transpose1d.default': TRANSPOSED_CONVOLUTION,
  'aten.mul.Tensor': {
    ...LONG_SUMS,
    reason: 'the gradient of a broadcast operand is a sum, which PyTorch accumulates in 32 bits',
  },
  'aten.layer_norm.default': ROUNDING_NOISE,
  'aten.native_layer_norm.default': ROUNDING_NOISE,
  'aten.native_layer_norm_backward.default': ROUNDING_NOISE,
  'aten.as_strided_scatter.default': {
    reason:
      "PyTorch's formula keeps the gradient where src replaced self and drops it elsewhere, the reverse of the derivative",
    skipGradientOf: ['self'],
  },
};
