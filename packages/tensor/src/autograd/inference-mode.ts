/**
 * @file Inference mode: nothing is recorded, and tensors made in it can never take part in a backward graph.
 */
import {
  type OptionNames,
  TesseraError,
  checkFunction,
  checkOptionNames,
  scopesOf,
} from '@tessera/shared';
import type { Tensor } from '../tensor.js';
import { gradMode, withGradMode } from './grad-mode.js';

const INFERENCE: OptionNames<{ enabled: boolean }> = { enabled: true };

const runInScope = /* @__PURE__ */ scopesOf<boolean>(
  () => gradMode.inference,
  (inference) => (gradMode.inference = inference),
);

/**
 * Runs `fn` without recording gradients, for code that never trains; `enabled` false leaves such a scope. Tensors
 * made inside are inference tensors: outside they may be read, but not modified in place or saved for backward. An async
 * `fn` keeps the scope until its promise settles, and so does whatever else runs until then.
 *
 * @throws invalid-argument unless `fn` is a function
 * @see torch.inference_mode
 */
export function inferenceMode<R>(fn: () => R, options?: { readonly enabled?: boolean }): R {
  checkFunction('inferenceMode', fn);
  checkOptionNames('inferenceMode', options, INFERENCE);
  const enabled = options?.enabled ?? true;
  return runInScope(enabled, () => withGradMode(!enabled, fn));
}

/** Whether inference mode is on. */
export function isInferenceModeEnabled(): boolean {
  return gradMode.inference;
}

/** Whether a tensor was made in inference mode. */
export function isInferenceTensor(tensor: Tensor): boolean {
  return tensor?.storageOrNull?.isInference === true;
}

/** Refuses what only a normal tensor allows. @throws inference-tensor */
export function refuseInferenceTensor(what: string): never {
  throw new TesseraError('inference-tensor', what, {
    hints: ['clone() it outside of inferenceMode(), or use noGrad().'],
  });
}

/** Refuses to write to an inference tensor where gradients may be recorded. @throws inference-tensor */
export function checkInferenceWrite(self: Tensor): void {
  if (isInferenceTensor(self) && !gradMode.inference)
    refuseInferenceTensor(
      'Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before doing inplace update.',
    );
}
