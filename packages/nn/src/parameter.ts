/**
 * @file `Parameter`: a tensor that a module owns and an optimizer updates.
 *
 * It differs from a tensor only in its class, by which modules find it among their fields. Updates
 * happen in place, so a parameter keeps its identity through training, `to()` and `loadStateDict()`.
 * Modelled on `torch.nn.Parameter`.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { Tensor, isTensor, keep } from '@tessera/tensor';

/** Options of `Parameter`. */
export interface ParameterOptions {
  /** Whether gradients are computed for it (default true). */
  readonly requiresGrad?: boolean;
}

/** See the file header. Shares the memory of the tensor it is made from, without its history. */
export class Parameter extends Tensor {
  /**
   * @throws invalid-argument for what is no tensor and for unknown options, dtype-unsupported if a gradient is wanted
   * of an integer tensor
   */
  constructor(data: Tensor, options?: ParameterOptions) {
    checkOptionNames('Parameter', options, { requiresGrad: true });
    if (!isTensor(data))
      throw new TesseraError(
        'invalid-argument',
        `Parameter: the data must be a tensor, not ${typeof data}.`,
        { hints: ['Make one of numbers: new Parameter(tensor([1, 2])).'] },
      );
    super(data.storage, data.dtype, data.device, data.sizes, data.strides, data.storageOffset);
    // The memory is the parameter's now: an enclosing tidy() must not release it through `data`.
    keep(data);
    keep(this);
    this.requiresGrad_(options?.requiresGrad);
  }

  override toString(): string {
    return `Parameter containing:\n${super.toString()}`;
  }
}
