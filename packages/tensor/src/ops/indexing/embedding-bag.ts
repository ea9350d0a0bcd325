/**
 * @file Embedding bags: rows of a table combined per bag of indices, and tables kept within a norm.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import {
  BAG_MODES,
  bagBackwardKernel,
  bagCount,
  bagKernel,
  sampleWeightsBackwardKernel,
  type BagForwardArgs,
} from '../../kernels/bag-kernel.js';
import { checkIndexType, strictIndex } from '../../kernels/coordinates.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { metaOfSelf } from '../../memory-format.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { TensorMeta } from '../../op/op-record.js';
import { formatSizes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { promoteTypes } from '../../type-promotion.js';

/** @throws shape-mismatch, dtype-mismatch, invalid-argument */
function checkBags(args: BagForwardArgs): void {
  const { weight, indices, offsets, per_sample_weights: scales } = args;
  checkIndexType('embedding_bag', indices.dtype);
  checkIndexType('embedding_bag', offsets.dtype);
  if (weight.ndim !== 2 || indices.ndim !== 1 || offsets.ndim !== 1)
    throw new TesseraError(
      'shape-mismatch',
      `embedding_bag: weight must be 2-D, indices and offsets 1-D, got ${[weight, indices, offsets].map((t) => formatSizes(t.sizes)).join(', ')}`,
      { hints: ['Indices of all bags lie in one vector; offsets say where each bag begins.'] },
    );
  if (args.include_last_offset === true && offsets.numel === 0)
    throw new TesseraError(
      'invalid-argument',
      'embedding_bag: include_last_offset: number of offset should be at least 1',
      { hints: ['The last offset is the number of indices.'] },
    );
  if (scales === null) return;
  if (args.mode !== BAG_MODES.sum)
    throw new TesseraError(
      'invalid-argument',
      'embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode="sum"',
      { hints: ["Use mode 'sum', or leave the weights out."] },
    );
  if (scales.dtype !== weight.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `embedding_bag: expected weight (${weight.dtype}) and per_sample_weights (${scales.dtype}) to have same scalar type`,
      { hints: [`Convert it: perSampleWeights.to('${weight.dtype}').`] },
    );
  if (scales.ndim !== 1 || scales.numel !== indices.numel)
    throw new TesseraError(
      'shape-mismatch',
      `embedding_bag: expected per_sample_weights to have the shape of indices ${formatSizes(indices.sizes)}, got ${formatSizes(scales.sizes)}`,
      { hints: ['One weight per index.'] },
    );
}

/** PyTorch leaves out offset2bag where its fused sum does not need it. */
function isFusedSum({ weight, mode, padding_idx }: BagForwardArgs): boolean {
  return (
    mode === BAG_MODES.sum &&
    padding_idx < 0 &&
    weight.dtype !== 'float64' &&
    (weight.strides[1] === 1 || weight.sizes[1] === 1)
  );
}

function bagMeta(args: BagForwardArgs): TensorMeta[] {
  checkBags(args);
  const { weight, indices, offsets } = args;
  const bags = bagCount(args);
  const dense = (sizes: number[], dtype: Tensor['dtype']): TensorMeta =>
    denseMeta(weight, sizes, dtype);
  const long = promoteTypes(indices.dtype, offsets.dtype);
  const wide = [bags, weight.sizes[1]!];
  return [
    dense(wide, weight.dtype),
    dense([isFusedSum(args) ? 0 : indices.numel], long),
    dense([bags], long),
    dense(args.mode === BAG_MODES.max ? wide : [bags], long),
  ];
}

const TAIL =
  'bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False';
const OUTPUTS = '(Tensor, Tensor, Tensor, Tensor)';

const bagOp: OpOverload<[Tensor, Tensor, Tensor, Tensor]> = defineOp(
  `aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, ${TAIL}, int padding_idx=-1) -> ${OUTPUTS}`,
  {
    meta: bagMeta,
    kernel: bagKernel,
    saved: ['weight', 'indices', 'offsets', 'per_sample_weights', 'out.1', 'out.2', 'out.3'],
    vjp: (args, { grad, outs }) => ({
      weight: () =>
        callOp(bagBackwardOp, [
          grad,
          args.indices,
          args.offsets,
          outs[1],
          outs[2],
          outs[3],
          args.weight.sizes[0],
          args.scale_grad_by_freq,
          args.mode,
          false,
          args.per_sample_weights,
          args.padding_idx,
        ]),
      per_sample_weights: () =>
        callOp(sampleWeightsBackwardOp, [
          grad,
          args.weight,
          args.indices,
          args.offsets,
          outs[1],
          args.mode,
          args.padding_idx,
        ]),
    }),
  },
);

const bagBackwardOp = defineOp(
  'aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor',
  {
    meta: ({ grad, num_weights }) => {
      const sizes = [num_weights, grad.sizes[1]];
      return denseMeta(grad, sizes);
    },
    kernel: bagBackwardKernel,
  },
);
const sampleWeightsBackwardOp = defineOp(
  'aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor',
  {
    meta: ({ grad, indices }) => denseMeta(grad, indices.sizes),
    kernel: sampleWeightsBackwardKernel,
  },
);

const bagPaddingOp: OpOverload<[Tensor, Tensor, Tensor, Tensor]> = withOverloads(
  defineOp(
    `aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> ${OUTPUTS}`,
    {
      decompose: (args) => {
        const { padding_idx, ...rest } = args;
        const padding =
          padding_idx === null ? -1 : wrapDim(padding_idx, args.weight.sizes[0], 'embedding_bag');
        return callOp(bagOp, [...Object.values(rest), padding]);
      },
    },
  ),
  defineOp(
    `aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, ${TAIL}) -> ${OUTPUTS}`,
    { decompose: (args) => callOp(bagOp, [...Object.values(args), -1]) },
  ),
);

/** How far beyond the norm a row is scaled back, so that it ends up within it. */
const NORM_MARGIN = 1e-7;

const renormOp = defineOp(
  'aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor',
  {
    tags: ['non-differentiable'],
    meta: ({ self, indices }) => {
      checkIndexType('embedding_renorm_', indices.dtype);
      if (self.ndim !== 2)
        throw new TesseraError(
          'shape-mismatch',
          `embedding_renorm_: 'self' must be 2-D, got ${formatSizes(self.sizes)}`,
          { hints: ['The table is [number of embeddings, size].'] },
        );
      return metaOfSelf({ self });
    },
    kernel: ({ self, indices, max_norm, norm_type: p }, [out]) => {
      const [rows, width] = self.sizes;
      const table = readNumbers(self);
      for (const index of new Set(readNumbers(indices))) {
        const start = strictIndex(index, rows, 'embedding_renorm_') * width;
        const row = table.subarray(start, start + width);
        const sizes = row.map(Math.abs);
        const norm =
          p === Infinity
            ? Math.max(...sizes)
            : p === 0
              ? sizes.filter((size) => size !== 0).length
              : sizes.reduce((sum, size) => sum + size ** p, 0) ** (1 / p);
        if (norm > max_norm) {
          const scale = max_norm / (norm + NORM_MARGIN);
          row.forEach((value, j) => (row[j] = value * scale));
        }
      }
      writeNumbers(out!, table);
    },
  },
);
const renormInplace = defineInplace(renormOp);

/** Options of `embeddingBag`. */
export interface EmbeddingBagOptions {
  readonly mode?: keyof typeof BAG_MODES;
  readonly scaleGradByFreq?: boolean;
  /** One weight per index; only with mode 'sum'. */
  readonly perSampleWeights?: Tensor | null;
  /** Whether the last offset is the end of the last bag. */
  readonly includeLastOffset?: boolean;
  /** Rows of this index count for nothing. */
  readonly paddingIdx?: number | null;
}
const EMBEDDING_BAG: OptionNames<EmbeddingBagOptions> = {
  mode: true,
  scaleGradByFreq: true,
  perSampleWeights: true,
  includeLastOffset: true,
  paddingIdx: true,
};

/**
 * Rows of a [V, D] table combined per bag: indices [N], offsets [B] where each bag begins → [B, D].
 * Followed by the bag of each index, the sizes of bags and, for 'max', the winning rows.
 *
 * @throws shape-mismatch, dtype-mismatch, invalid-argument, index-out-of-range
 */
export function embeddingBag(
  weight: Tensor,
  indices: Tensor,
  offsets: Tensor,
  options?: EmbeddingBagOptions,
): [output: Tensor, offset2bag: Tensor, bagSize: Tensor, maximumIndices: Tensor] {
  checkOptionNames('embeddingBag', options, EMBEDDING_BAG);
  return callOp(bagPaddingOp, [
    weight,
    indices,
    offsets,
    options?.scaleGradByFreq ?? false,
    BAG_MODES[options?.mode ?? 'mean'],
    false,
    options?.perSampleWeights ?? null,
    options?.includeLastOffset ?? false,
    options?.paddingIdx ?? null,
  ]);
}

/** Scales the named rows of a table down to at most a norm. @throws index-out-of-range, shape-mismatch */
export function embeddingRenorm_(
  self: Tensor,
  indices: Tensor,
  maxNorm: number,
  normType = 2,
): Tensor {
  return callOp(renormInplace, [self, indices, maxNorm, normType]);
}
