/**
 * @file What every model of this folder says about itself.
 *
 * Each file builds one architecture from `@tessera/nn` so that a checkpoint of PyTorch's loads by its
 * own names: a field is called what the original calls it.
 */
import type { Module, optim } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';

/** What a model needs besides its input. */
export interface RecordedExtras {
  /** Labels, where the recording has some. */
  readonly target: Tensor | null;
}

/** A model that PyTorch's results are recorded of. */
export interface RecordedModel {
  readonly name: string;
  /** Makes the model, with weights of its own. */
  readonly build: () => Module;
  /** What the recorded gradients are those of. */
  readonly loss: (output: Tensor, input: Tensor, extras: RecordedExtras) => Tensor;
  /** Makes the optimizer of the recorded training steps. */
  readonly optimizer?: (model: Module) => optim.Optimizer;
  /** Whether the input is stored time-last although its first dimension is time (the recorded strides). */
  readonly timeLast?: boolean;
  /** What a gradient may differ by, where the exact one is zero and PyTorch's is rounding noise. */
  readonly noise?: number;
}
