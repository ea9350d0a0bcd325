/**
 * @file `Embedding`: rows of a table by index.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, empty, noGrad, select } from '@tessera/tensor';
import { zero_ } from '@tessera/tensor/internal';
import { embedding } from '../functional/embedding.js';
import { normal_ } from '../init/fill.js';
import { floatLiteral } from '../module/module-repr.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';
import { type TableOptions, overTable } from './over-table.js';

/** Options of `Embedding`. */
export interface EmbeddingOptions extends FactoryOptions {
  /** Row that is zero at first and receives no gradient; negative counts from the end. */
  readonly paddingIdx?: number | null;
  /** Rows that are used are scaled down to this norm, in place. */
  readonly maxNorm?: number | null;
  /** Order of that norm (default 2). */
  readonly normType?: number;
  /** Whether gradients are divided by how often a row was used (default false). */
  readonly scaleGradByFreq?: boolean;
}

/** The padding row counted from the start. @throws index-out-of-range if it is none */
export function paddingRow(
  module: string,
  paddingIdx: number | null,
  numEmbeddings: number,
): number | null {
  if (paddingIdx === null) return null;
  if (paddingIdx >= -numEmbeddings && paddingIdx < numEmbeddings)
    return paddingIdx < 0 ? paddingIdx + numEmbeddings : paddingIdx;
  throw new TesseraError(
    'index-out-of-range',
    `${module}: paddingIdx ${paddingIdx} must be within numEmbeddings ${numEmbeddings}`,
    {
      hints: ['Count rows of the table from 0, or back from -1.'],
    },
  );
}

/** Rows of `weight` by index, […] → […, embeddingDim]. @see torch.nn.Embedding */
export class Embedding extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof EmbeddingOptions, true>> = {
    paddingIdx: true,
    maxNorm: true,
    normType: true,
    scaleGradByFreq: true,
    device: true,
    dtype: true,
  };

  readonly paddingIdx: number | null;
  readonly maxNorm: number | null;
  readonly normType: number;
  readonly scaleGradByFreq: boolean;
  /** [numEmbeddings, embeddingDim] */
  weight: Parameter;

  /** @throws index-out-of-range if paddingIdx names no row */
  constructor(
    readonly numEmbeddings: number,
    readonly embeddingDim: number,
    options: EmbeddingOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const {
      paddingIdx = null,
      maxNorm = null,
      normType = 2,
      scaleGradByFreq = false,
      ...factory
    } = options;
    this.paddingIdx = paddingRow('Embedding', paddingIdx, numEmbeddings);
    this.maxNorm = maxNorm;
    this.normType = normType;
    this.scaleGradByFreq = scaleGradByFreq;
    this.weight = new Parameter(empty([numEmbeddings, embeddingDim], factory));
    this.resetParameters();
  }

  /**
   * A module over a given table, which does not train unless `freeze` is false.
   *
   * @throws shape-mismatch, invalid-argument
   * @see torch.nn.Embedding.from_pretrained
   */
  static fromPretrained(table: Tensor, options: TableOptions<EmbeddingOptions> = {}): Embedding {
    return pretrained(table, options);
  }

  /** Draws new values: standard normal; the padding row zero. */
  resetParameters(): void {
    normal_(this.weight);
    const { paddingIdx } = this;
    if (paddingIdx !== null) noGrad(() => zero_(select(this.weight, 0, paddingIdx)));
  }

  /** @throws index-out-of-range, dtype-mismatch */
  override forward(indices: Tensor): Tensor {
    return embedding(indices, this.weight, {
      paddingIdx: this.paddingIdx,
      maxNorm: this.maxNorm,
      normType: this.normType,
      scaleGradByFreq: this.scaleGradByFreq,
    });
  }

  override extraRepr(): string {
    const parts = [`${this.numEmbeddings}, ${this.embeddingDim}`];
    if (this.paddingIdx !== null) parts.push(`padding_idx=${this.paddingIdx}`);
    if (this.maxNorm !== null) parts.push(`max_norm=${floatLiteral(this.maxNorm)}`);
    if (this.normType !== 2) parts.push(`norm_type=${floatLiteral(this.normType)}`);
    if (this.scaleGradByFreq) parts.push('scale_grad_by_freq=True');
    return parts.join(', ');
  }
}

// Outside of the class: bundlers rename one that names itself, and modules print their names.
function pretrained(table: Tensor, options: TableOptions<EmbeddingOptions>): Embedding {
  return overTable(Embedding, table, options, (...args) => new Embedding(...args));
}
