/**
 * @file `EmbeddingBag`: rows of a table, combined per bag of indices.
 */
import { type Tensor, empty, noGrad, select } from '@tessera/tensor';
import { zero_ } from '@tessera/tensor/internal';
import { embeddingBag } from '../functional/embedding.js';
import { normal_ } from '../init/fill.js';
import { floatLiteral } from '../module/module-repr.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import { type EmbeddingOptions, paddingRow } from './embedding.js';
import { type TableOptions, overTable } from './over-table.js';

/** Options of `EmbeddingBag`. */
export interface EmbeddingBagModuleOptions extends EmbeddingOptions {
  /** How rows of a bag are combined (default `mean`). */
  readonly mode?: 'sum' | 'mean' | 'max';
  /** Whether the last offset is the end of the last bag (default false). */
  readonly includeLastOffset?: boolean;
}

/** Rows of `weight` combined per bag, [B, N] or [N] with offsets [B] → [B, embeddingDim]. @see torch.nn.EmbeddingBag */
export class EmbeddingBag extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof EmbeddingBagModuleOptions, true>> = {
    maxNorm: true,
    normType: true,
    scaleGradByFreq: true,
    mode: true,
    includeLastOffset: true,
    paddingIdx: true,
    device: true,
    dtype: true,
  };

  readonly maxNorm: number | null;
  readonly normType: number;
  readonly scaleGradByFreq: boolean;
  readonly mode: 'sum' | 'mean' | 'max';
  readonly includeLastOffset: boolean;
  readonly paddingIdx: number | null;
  /** [numEmbeddings, embeddingDim] */
  weight: Parameter;

  /** @throws index-out-of-range if paddingIdx names no row */
  constructor(
    readonly numEmbeddings: number,
    readonly embeddingDim: number,
    options: EmbeddingBagModuleOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const {
      maxNorm = null,
      normType = 2,
      scaleGradByFreq = false,
      mode = 'mean',
      includeLastOffset = false,
      paddingIdx = null,
      ...factory
    } = options;
    this.maxNorm = maxNorm;
    this.normType = normType;
    this.scaleGradByFreq = scaleGradByFreq;
    this.mode = mode;
    this.includeLastOffset = includeLastOffset;
    this.paddingIdx = paddingRow('EmbeddingBag', paddingIdx, numEmbeddings);
    this.weight = new Parameter(empty([numEmbeddings, embeddingDim], factory));
    this.resetParameters();
  }

  /**
   * A module over a given table, which does not train unless `freeze` is false.
   *
   * @throws shape-mismatch, invalid-argument
   * @see torch.nn.EmbeddingBag.from_pretrained
   */
  static fromPretrained(
    table: Tensor,
    options: TableOptions<EmbeddingBagModuleOptions> = {},
  ): EmbeddingBag {
    return pretrained(table, options);
  }

  /** Draws new values: standard normal; the padding row zero. */
  resetParameters(): void {
    normal_(this.weight);
    const { paddingIdx } = this;
    if (paddingIdx !== null) noGrad(() => zero_(select(this.weight, 0, paddingIdx)));
  }

  /** @throws shape-mismatch, invalid-argument, index-out-of-range */
  override forward(
    input: Tensor,
    offsets: Tensor | null = null,
    perSampleWeights: Tensor | null = null,
  ): Tensor {
    return embeddingBag(input, this.weight, {
      offsets,
      perSampleWeights,
      mode: this.mode,
      maxNorm: this.maxNorm,
      normType: this.normType,
      scaleGradByFreq: this.scaleGradByFreq,
      includeLastOffset: this.includeLastOffset,
      paddingIdx: this.paddingIdx,
    });
  }

  override extraRepr(): string {
    const parts = [`${this.numEmbeddings}, ${this.embeddingDim}`];
    if (this.maxNorm !== null) parts.push(`max_norm=${floatLiteral(this.maxNorm)}`);
    if (this.normType !== 2) parts.push(`norm_type=${floatLiteral(this.normType)}`);
    if (this.scaleGradByFreq) parts.push('scale_grad_by_freq=True');
    parts.push(`mode='${this.mode}'`);
    if (this.paddingIdx !== null) parts.push(`padding_idx=${this.paddingIdx}`);
    return parts.join(', ');
  }
}

// Outside of the class: bundlers rename one that names itself, and modules print their names.
function pretrained(table: Tensor, options: TableOptions<EmbeddingBagModuleOptions>): EmbeddingBag {
  return overTable(EmbeddingBag, table, options, (...args) => new EmbeddingBag(...args));
}
