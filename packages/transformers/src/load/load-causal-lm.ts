/**
 * @file `loadCausalLM`: a Hugging Face folder as a model.
 */
import { TesseraError } from '@tessera/shared';
import {
  type DType,
  type DeviceType,
  type LoadCheckpointOptions,
  type Tensor,
  loadCheckpoint,
} from '@tessera/tensor';
import { skipInit } from '@tessera/nn';
import { familyOf } from '../config/families.js';
import { JsonConfig } from '../config/json-config.js';
import { CausalLM } from '../model/causal-lm.js';
import { isQuantized, quantizeLike } from '../quantize/quantized-folder.js';
import { toModelWeights } from '../weights/convert-weights.js';
import { type FolderOptions, ModelFolder } from './model-folder.js';

/** What `loadCausalLM` takes besides the folder. */
export interface LoadCausalLMOptions extends FolderOptions {
  /** Element type of the weights; default: as stored. Quantized models keep theirs. */
  readonly dtype?: DType;
  /** Where the model goes (default `cpu`). */
  readonly device?: DeviceType;
  readonly cache?: LoadCheckpointOptions['cache'];
  readonly onProgress?: LoadCheckpointOptions['onProgress'];
}

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';

/**
 * Loads a model from a folder with `config.json` and `model.safetensors`, or `model.safetensors.index.json` and its
 * shards. It is in evaluation mode, in the type of the file. Tensors go from the file into the memory of the weights:
 * loading takes the size of the file, and that of a layer where a family's weights are laid out in another way. Folders
 * of quantized models (`saveCausalLM`) give quantized models.
 *
 * @param folder a path in Node, or an address
 * @throws model-unsupported, model-invalid, source-unreadable, safetensors-invalid; the reason of the signal
 * @example const model = await loadCausalLM('models/Llama-3.2-1B');
 */
export async function loadCausalLM(
  folder: string | URL,
  options: LoadCausalLMOptions = {},
): Promise<CausalLM> {
  const { device = 'cpu', signal, requestInit, dtype, cache, onProgress } = options;
  const files = new ModelFolder(folder, {
    ...(signal && { signal }),
    ...(requestInit && { requestInit }),
  });
  const config = await files.json('config.json');
  if (config === null)
    throw new TesseraError('model-invalid', `There is no config.json in ${String(folder)}.`, {
      hints: ['Give the folder itself, with config.json and *.safetensors in it.'],
    });
  const generation = await files.json('generation_config.json');
  const index = await files.json(INDEX);
  const checkpoint = await loadCheckpoint(files.at(index === null ? SINGLE : INDEX), {
    device,
    signal,
    requestInit,
    // Words and scales stay as they are.
    dtype: isQuantized(JsonConfig.of(config)) ? undefined : dtype,
    cache,
    onProgress,
  });
  return makeCausalLM(checkpoint, config, generation);
}

/**
 * A model from its parsed `config.json`, the tensors of its checkpoint and, where there is one,
 * `generation_config.json`. It takes the tensors over: they become the weights, and those that are converted are
 * released.
 *
 * @throws model-unsupported, model-invalid
 */
export function makeCausalLM(
  checkpoint: Readonly<Record<string, Tensor>>,
  config: unknown,
  generation: unknown = null,
): CausalLM {
  const json = JsonConfig.of(config);
  const family = familyOf(json);
  const read = family.config(json);
  const more = generation === null ? [] : JsonConfig.of(generation).tokens('eos_token_id');
  const end = [...new Set([...read.tokens.end, ...more])];
  const model = skipInit(() => new CausalLM({ ...read, tokens: { ...read.tokens, end } }));
  const quantized = isQuantized(json);
  const weights = quantized ? checkpoint : toModelWeights(checkpoint, family, read);
  if (quantized) quantizeLike(model, weights);
  try {
    model.loadStateDict(quantized ? weights : inOneType(weights), { assign: true });
  } catch (error) {
    throw new TesseraError(
      'model-invalid',
      `The weights do not fit config.json: ${(error as Error).message}`,
      { context: { family: read.family }, cause: error },
    );
  }
  return model.eval();
}

/** Weights in the type of the first: some files hold norms or biases in another. */
function inOneType(weights: Readonly<Record<string, Tensor>>): Record<string, Tensor> {
  const dtype = Object.values(weights)[0]?.dtype as DType | undefined;
  return Object.fromEntries(
    Object.entries(weights).map(([name, weight]) => {
      if (weight.dtype === dtype) return [name, weight];
      const converted = weight.to(dtype!);
      weight.dispose();
      return [name, converted];
    }),
  );
}
