/**
 * @file A model of a configuration and its weights, which are there already under the decoder's names.
 */
import { TesseraError, messageOf } from '@tessera/shared';
import type { DType, Tensor } from '@tessera/tensor';
import { skipInit } from '@tessera/nn';
import type { DecoderConfig } from '../config/decoder-config.js';
import { CausalLM } from '../model/causal-lm.js';
import { quantizeLike } from '../quantize/quantized-folder.js';

/** It takes the weights over. @throws model-invalid */
export function modelOf(
  weights: Readonly<Record<string, Tensor>>,
  config: DecoderConfig,
  quantized = false,
): CausalLM {
  const model = skipInit(() => new CausalLM(config));
  if (quantized) quantizeLike(model, weights);
  try {
    model.loadStateDict(quantized ? weights : inOneType(weights), { assign: true });
  } catch (error) {
    // What to do about a state dict is not what to do about a folder.
    const [what] = messageOf(error).split('\n→');
    throw new TesseraError('model-invalid', `The weights do not fit the configuration: ${what}`, {
      context: { family: config.family },
      cause: error,
      hints: ['Take weights and config.json from one folder.'],
    });
  }
  return model.eval();
}

/** Weights in the type of the first: some files hold norms or biases in another. */
function inOneType(weights: Readonly<Record<string, Tensor>>): Record<string, Tensor> {
  const dtype: DType | undefined = Object.values(weights)[0]?.dtype;
  return Object.fromEntries(
    Object.entries(weights).map(([name, weight]) => {
      if (weight.dtype === dtype) return [name, weight];
      const converted = weight.to(dtype!);
      weight.dispose();
      return [name, converted];
    }),
  );
}
