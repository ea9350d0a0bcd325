/**
 * @file `MultiheadAttention`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, empty, transpose } from '@tessera/tensor';
import { multiHeadAttention } from '../functional/multi-head-attention.js';
import { zeros_ } from '../init/fill.js';
import { xavierNormal_, xavierUniform_ } from '../init/kaiming.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';
import { type Linear, NonDynamicallyQuantizableLinear } from './linear.js';
import { checkTensors } from '@tessera/tensor/internal';

/** Options of `MultiheadAttention`. */
export interface MultiheadAttentionOptions extends FactoryOptions {
  /** Share of the weights that is dropped in training (default 0). */
  readonly dropout?: number;
  /** Whether the projections have biases (default true). */
  readonly bias?: boolean;
  /** Whether a learned position is appended to keys and values (default false). */
  readonly addBiasKv?: boolean;
  /** Whether a zero is appended to keys and values (default false). */
  readonly addZeroAttn?: boolean;
  /** Features of the keys (default embedDim). */
  readonly kdim?: number | null;
  /** Features of the values (default embedDim). */
  readonly vdim?: number | null;
  /** Whether sequences are [N, T, E] instead of [T, N, E] (default false). */
  readonly batchFirst?: boolean;
}

/** Options of a call. */
export interface AttentionCallOptions {
  /** [N, S]: bool, true is ignored; otherwise added. */
  readonly keyPaddingMask?: Tensor | null;
  /** Whether the weights are returned (default true); without, a fused attention runs. */
  readonly needWeights?: boolean;
  /** [T, S] or [N · heads, T, S]: bool, true is ignored; otherwise added. */
  readonly attnMask?: Tensor | null;
  /** Whether the weights are the mean over the heads (default true). */
  readonly averageAttnWeights?: boolean;
  /** Hint that `attnMask` is causal (default false). */
  readonly isCausal?: boolean;
}

const CALL_OPTIONS: OptionNames<AttentionCallOptions> = {
  keyPaddingMask: true,
  needWeights: true,
  attnMask: true,
  averageAttnWeights: true,
  isCausal: true,
};

/** Attention with several heads over learned projections. @see torch.nn.MultiheadAttention @see https://arxiv.org/abs/1706.03762 */
export class MultiheadAttention extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof MultiheadAttentionOptions, true>> = {
    dropout: true,
    bias: true,
    addBiasKv: true,
    addZeroAttn: true,
    kdim: true,
    vdim: true,
    batchFirst: true,
    device: true,
    dtype: true,
  };

  readonly kdim: number;
  readonly vdim: number;
  readonly dropout: number;
  readonly batchFirst: boolean;
  readonly addZeroAttn: boolean;
  /** [3 E, E], or null when keys or values have other sizes. */
  in_proj_weight: Parameter | null;
  q_proj_weight: Parameter | null;
  k_proj_weight: Parameter | null;
  v_proj_weight: Parameter | null;
  /** [3 E], or null. */
  in_proj_bias: Parameter | null;
  /** [1, 1, E], or null. */
  bias_k: Parameter | null;
  /** [1, 1, E], or null. */
  bias_v: Parameter | null;
  out_proj: Linear;

  /** @throws invalid-argument unless the heads divide the embedding */
  constructor(
    readonly embedDim: number,
    readonly numHeads: number,
    options: MultiheadAttentionOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const {
      dropout = 0,
      bias = true,
      addBiasKv = false,
      addZeroAttn = false,
      kdim,
      vdim,
      batchFirst = false,
      ...factory
    } = options;
    if (!(embedDim > 0) || !(numHeads > 0) || embedDim % numHeads !== 0)
      throw new TesseraError(
        'invalid-argument',
        `MultiheadAttention: embedDim (${embedDim}) must be divisible by numHeads (${numHeads}), both above zero`,
        { hints: ['Each head gets embedDim / numHeads features.'] },
      );
    this.kdim = kdim ?? embedDim;
    this.vdim = vdim ?? embedDim;
    this.dropout = dropout;
    this.batchFirst = batchFirst;
    this.addZeroAttn = addZeroAttn;
    const make = (...sizes: number[]): Parameter => new Parameter(empty(sizes, factory));
    const together = this.kdim === embedDim && this.vdim === embedDim;
    this.in_proj_weight = together ? make(3 * embedDim, embedDim) : null;
    this.q_proj_weight = together ? null : make(embedDim, embedDim);
    this.k_proj_weight = together ? null : make(embedDim, this.kdim);
    this.v_proj_weight = together ? null : make(embedDim, this.vdim);
    this.in_proj_bias = bias ? make(3 * embedDim) : null;
    this.bias_k = addBiasKv ? make(1, 1, embedDim) : null;
    this.bias_v = addBiasKv ? make(1, 1, embedDim) : null;
    this.out_proj = new NonDynamicallyQuantizableLinear(embedDim, embedDim, { bias, ...factory });
    this.resetParameters();
  }

  /** Xavier-uniform projections, zero biases, Xavier-normal appended positions. */
  resetParameters(): void {
    for (const weight of [
      this.in_proj_weight,
      this.q_proj_weight,
      this.k_proj_weight,
      this.v_proj_weight,
    ])
      if (weight !== null) xavierUniform_(weight);
    for (const bias of [this.in_proj_bias, this.out_proj.bias]) if (bias !== null) zeros_(bias);
    for (const position of [this.bias_k, this.bias_v])
      if (position !== null) xavierNormal_(position);
  }

  /**
   * [T, N, E], [S, N, kdim], [S, N, vdim] → [T, N, E] and the weights [N, T, S], or null.
   *
   * @throws shape-mismatch, dtype-mismatch, invalid-argument
   */
  override forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: AttentionCallOptions = {},
  ): [output: Tensor, weights: Tensor | null] {
    checkOptionNames('MultiheadAttention.call', options, CALL_OPTIONS);
    checkTensors('MultiheadAttention', { query, key, value });
    const swap = this.batchFirst && query.ndim === 3;
    const turn = (x: Tensor): Tensor => (swap ? transpose(x, 0, 1) : x);
    const q = turn(query);
    const k = key === query ? q : turn(key);
    const v = value === key ? k : turn(value);
    const [output, weights] = multiHeadAttention(q, k, v, {
      numHeads: this.numHeads,
      inProjWeight: this.in_proj_weight ?? [
        this.q_proj_weight!,
        this.k_proj_weight!,
        this.v_proj_weight!,
      ],
      inProjBias: this.in_proj_bias,
      biasK: this.bias_k,
      biasV: this.bias_v,
      addZeroAttn: this.addZeroAttn,
      outProjWeight: this.out_proj.weight,
      outProjBias: this.out_proj.bias,
      dropoutP: this.dropout,
      training: this.training,
      ...options,
    });
    return [turn(output), weights];
  }
}
