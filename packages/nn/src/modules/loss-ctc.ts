/**
 * @file `CTCLoss`.
 */
import type { Tensor } from '@tessera/tensor';
import type { Reduction } from '@tessera/tensor/internal';
import { type CtcLossOptions, ctcLoss } from '../functional/ctc-loss.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Likelihood of label sequences over all their alignments with longer inputs. @see torch.nn.CTCLoss */
export class CTCLoss extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof CtcLossOptions, true>> = {
    blank: true,
    zeroInfinity: true,
    reduction: true,
  };

  readonly blank: number;
  readonly reduction: Reduction;
  readonly zeroInfinity: boolean;

  constructor(options: CtcLossOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.blank = options.blank ?? 0;
    this.reduction = options.reduction ?? 'mean';
    this.zeroInfinity = options.zeroInfinity ?? false;
  }

  /** Log-probabilities [T, N, C], labels [N, S] or one row of all @throws shape-mismatch */
  override forward(
    logProbs: Tensor,
    targets: Tensor,
    inputLengths: Tensor | readonly number[],
    targetLengths: Tensor | readonly number[],
  ): Tensor {
    const { blank, reduction, zeroInfinity } = this;
    const options = { blank, reduction, zeroInfinity };
    return ctcLoss(logProbs, targets, inputLengths, targetLengths, options);
  }
}
