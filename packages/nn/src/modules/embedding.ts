/**
 * @file `Embedding`: rows of a table by index.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, embedding, empty, noGrad, select, zero_ } from '@tessera/tensor';
import { normal_ } from '../init/fill.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of `Embedding`. */
export interface EmbeddingOptions extends FactoryOptions {
  /** Row that is zero at first and receives no gradient; negative counts from the end. */
  readonly paddingIdx?: number | null;
}

/** Rows of `weight` by index, […] → […, embeddingDim]. @see torch.nn.Embedding */
export class Embedding extends Module {
  readonly paddingIdx: number | null;
  /** [numEmbeddings, embeddingDim] */
  weight: Parameter;

  /** @throws index-out-of-range if paddingIdx names no row */
  constructor(
    readonly numEmbeddings: number,
    readonly embeddingDim: number,
    options: EmbeddingOptions = {},
  ) {
    super();
    const { paddingIdx = null, ...factory } = options;
    if (paddingIdx !== null && !(paddingIdx >= -numEmbeddings && paddingIdx < numEmbeddings)) {
      throw new TesseraError(
        'index-out-of-range',
        `Embedding: paddingIdx ${paddingIdx} must be within numEmbeddings ${numEmbeddings}`,
        { hints: ['It names a row of the table.'] },
      );
    }
    this.paddingIdx =
      paddingIdx !== null && paddingIdx < 0 ? paddingIdx + numEmbeddings : paddingIdx;
    this.weight = new Parameter(empty([numEmbeddings, embeddingDim], factory));
    this.resetParameters();
  }

  /** Draws new values: standard normal; the padding row zero. */
  resetParameters(): void {
    normal_(this.weight);
    const { paddingIdx } = this;
    if (paddingIdx !== null) noGrad(() => zero_(select(this.weight, 0, paddingIdx)));
  }

  /** @throws index-out-of-range, dtype-mismatch */
  override forward(indices: Tensor): Tensor {
    return embedding(
      this.weight,
      indices,
      this.paddingIdx === null ? {} : { paddingIdx: this.paddingIdx },
    );
  }

  override extraRepr(): string {
    return `${this.numEmbeddings}, ${this.embeddingDim}${this.paddingIdx === null ? '' : `, padding_idx=${this.paddingIdx}`}`;
  }
}

trustForward(Embedding);
