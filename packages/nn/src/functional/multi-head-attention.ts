/**
 * @file Multi-head attention: projections, heads, masks, and the weights if they are wanted.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type Tensor,
  baddbmm,
  bmm,
  cat,
  dropout,
  expand,
  isTensor,
  linear,
  maskedFill,
  mean,
  permute,
  reshape,
  softmax,
  split,
  squeeze,
  transpose,
  unsqueeze,
  zeros,
} from '@tessera/tensor';
import {
  constantPad,
  formatSizes,
  sameNumbers,
  scaledDotProductAttention,
} from '@tessera/tensor/internal';

/** The weights and choices of one attention layer; sequences are [T, N, E] or [T, E]. */
export interface MultiHeadAttentionOptions {
  readonly numHeads: number;
  /** [3 E, E], or the three projections apart. */
  readonly inProjWeight: Tensor | readonly [query: Tensor, key: Tensor, value: Tensor];
  /** [3 E] */
  readonly inProjBias?: Tensor | null;
  /** Appended to the keys, [1, 1, E]. */
  readonly biasK?: Tensor | null;
  /** Appended to the values, [1, 1, E]. */
  readonly biasV?: Tensor | null;
  /** Whether a zero is appended to keys and values. */
  readonly addZeroAttn?: boolean;
  readonly outProjWeight: Tensor;
  readonly outProjBias?: Tensor | null;
  readonly dropoutP?: number;
  readonly training?: boolean;
  /** [N, S]: bool, true is ignored; otherwise added. */
  readonly keyPaddingMask?: Tensor | null;
  /** [T, S] or [N · heads, T, S]: bool, true is ignored; otherwise added. */
  readonly attnMask?: Tensor | null;
  /** Hint that `attnMask` is causal. */
  readonly isCausal?: boolean;
  readonly needWeights?: boolean;
  /** Whether the weights are the mean over the heads (default true). */
  readonly averageAttnWeights?: boolean;
}
const MULTI_HEAD_ATTENTION: OptionNames<MultiHeadAttentionOptions> = {
  numHeads: true,
  inProjWeight: true,
  inProjBias: true,
  biasK: true,
  biasV: true,
  addZeroAttn: true,
  outProjWeight: true,
  outProjBias: true,
  dropoutP: true,
  training: true,
  keyPaddingMask: true,
  attnMask: true,
  isCausal: true,
  needWeights: true,
  averageAttnWeights: true,
};

/** A mask as what is added to the scores. @throws dtype-mismatch */
function additive(mask: Tensor | null, name: string, like: Tensor): Tensor | null {
  if (mask === null || mask.dtype === like.dtype) return mask;
  if (mask.dtype !== 'bool')
    throw new TesseraError(
      'dtype-mismatch',
      `only bool and floating types of ${name} are supported, not ${mask.dtype} with a query of ${like.dtype}`,
      { hints: ['In a bool mask true positions are ignored.'] },
    );
  const none = zeros(mask.sizes, { dtype: like.dtype, device: like.device });
  return maskedFill(none, mask, -Infinity);
}

/** @throws shape-mismatch */
function expectSizes(
  name: string,
  tensor: Tensor,
  ...allowed: readonly (readonly number[])[]
): void {
  if (allowed.some((sizes) => sameNumbers(sizes, tensor.sizes))) return;
  throw new TesseraError(
    'shape-mismatch',
    `The shape of ${name} is ${formatSizes(tensor.sizes)}, but should be ${allowed.map(formatSizes).join(' or ')}.`,
    { hints: ['Sizes are target length, source length, batch and heads.'] },
  );
}

/** Query, key and value in the embedding's size. */
function project(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: MultiHeadAttentionOptions,
): Tensor[] {
  const { inProjWeight: weight, inProjBias: bias = null } = options;
  const size = query.sizes.at(-1)!;
  const third = (tensor: Tensor): Tensor[] => split(tensor, size, 0);
  if (query === key && key === value && !Array.isArray(weight)) {
    // One product for all three.
    const all = linear(query, weight, bias);
    return split(all, size, -1);
  }
  const weights = Array.isArray(weight) ? weight : third(weight);
  const biases = bias === null ? [null, null, null] : third(bias);
  return [query, key, value].map((x, i) => linear(x, weights[i]!, biases[i]));
}

/** One more source position that no mask hides. */
function extend(mask: Tensor | null): Tensor | null {
  return mask === null ? null : constantPad(mask, [0, 1], 0);
}

/**
 * Attention of [T, N, E] over [S, N, …] → the result [T, N, E] and, if wanted, the weights
 * [N, T, S], per head [N, heads, T, S]. Without a batch dimension it is left out throughout.
 *
 * @throws shape-mismatch, dtype-mismatch, invalid-argument for isCausal without a mask
 * @see torch.nn.functional.multi_head_attention_forward
 */
export function multiHeadAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: MultiHeadAttentionOptions,
): [output: Tensor, weights: Tensor | null] {
  checkOptionNames('multiHeadAttention', options, MULTI_HEAD_ATTENTION);
  if (!isTensor(options?.outProjWeight) || options.inProjWeight === undefined)
    throw new TesseraError(
      'invalid-argument',
      'multiHeadAttention: inProjWeight and outProjWeight are needed.',
      {
        hints: ['They are options, as numHeads is; MultiheadAttention is a module that has them.'],
      },
    );
  const { needWeights = true, averageAttnWeights = true, isCausal = false } = options;
  if (isCausal && (options.attnMask ?? null) === null)
    throw new TesseraError('invalid-argument', 'Need attnMask if specifying the isCausal hint.', {
      hints: ['isCausal says what the mask is; it does not replace it.'],
    });
  if (query.ndim !== 2 && query.ndim !== 3)
    throw new TesseraError(
      'shape-mismatch',
      `query should be unbatched 2D or batched 3D tensor but received ${query.ndim}-D query tensor`,
      { hints: ['The query is [T, N, E] or [T, E].'] },
    );
  if (query.ndim === 2) {
    const same = query === key && key === value;
    const batched = unsqueeze(query, 1);
    const padding = options.keyPaddingMask ?? null;
    const [output, weights] = multiHeadAttention(
      batched,
      same ? batched : unsqueeze(key, 1),
      same ? batched : unsqueeze(value, 1),
      { ...options, keyPaddingMask: padding === null ? null : unsqueeze(padding, 0) },
    );
    return [squeeze(output, 1), weights === null ? null : squeeze(weights, 0)];
  }
  const [target, batch, size] = query.sizes;
  const heads = options.numHeads;
  const width = size / heads;
  expectSizes('value', value, [...key.sizes.slice(0, 2), value.sizes.at(-1)!]);
  const source = key.sizes[0]!;
  let padding = additive(options.keyPaddingMask ?? null, 'keyPaddingMask', query);
  // The hint is worth something only when nothing else is masked and the weights are not wanted.
  const causal = isCausal && padding === null && !needWeights;
  let mask = causal ? null : additive(options.attnMask ?? null, 'attnMask', query);
  if (mask !== null) {
    expectSizes('attnMask', mask, [target, source], [batch * heads, target, source]);
    if (mask.ndim === 2) mask = unsqueeze(mask, 0);
  }
  if (padding !== null) expectSizes('keyPaddingMask', padding, [batch, source]);
  let [q, k, v] = project(query, key, value, options);
  if (options.biasK != null && options.biasV != null) {
    k = cat([k, expand(options.biasK, [1, batch, size])], 0);
    v = cat([v, expand(options.biasV, [1, batch, size])], 0);
    [mask, padding] = [extend(mask), extend(padding)];
  }
  const apart = (x: Tensor): Tensor =>
    transpose(reshape(x, [x.sizes[0]!, batch * heads, width]), 0, 1);
  [q, k, v] = [apart(q), apart(k), apart(v)];
  if (options.addZeroAttn === true) {
    const zero = zeros([batch * heads, 1, width], { dtype: k.dtype, device: k.device });
    [k, v] = [cat([k, zero], 1), cat([v, zero], 1)];
    [mask, padding] = [extend(mask), extend(padding)];
  }
  const length = k.sizes[1]!;
  if (padding !== null) {
    const perHead = reshape(
      expand(reshape(padding, [batch, 1, 1, length]), [batch, heads, 1, length]),
      [batch * heads, 1, length],
    );
    mask = mask === null ? perHead : mask.add(perHead);
  }
  const dropoutP = options.training === false ? 0 : (options.dropoutP ?? 0);
  const outProject = (together: Tensor): Tensor =>
    reshape(
      linear(reshape(together, [target * batch, size]), options.outProjWeight, options.outProjBias),
      [target, batch, size],
    );
  if (!needWeights) {
    const perHead = (x: Tensor): Tensor => reshape(x, [batch, heads, x.sizes[1]!, width]);
    const result = scaledDotProductAttention(perHead(q), perHead(k), perHead(v), {
      attnMask:
        mask === null
          ? null
          : mask.sizes[0] === 1
            ? unsqueeze(mask, 0)
            : reshape(mask, [batch, heads, mask.sizes[1]!, length]),
      dropoutP,
      isCausal: causal,
    });
    return [outProject(permute(result, [2, 0, 1, 3])), null];
  }
  const scaled = q.mul(Math.sqrt(1 / width));
  const keys = transpose(k, -2, -1);
  const scores = mask === null ? bmm(scaled, keys) : baddbmm(mask, scaled, keys);
  let weights = softmax(scores, -1);
  if (dropoutP > 0) weights = dropout(weights, { p: dropoutP, training: true });
  const output = outProject(transpose(bmm(weights, v), 0, 1));
  const perHead = reshape(weights, [batch, heads, target, length]);
  return [output, averageAttnWeights ? mean(perHead, 1) : perHead];
}
