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
import { familyOf } from '../config/families.js';
import { JsonConfig } from '../config/json-config.js';
import { CausalLM } from '../model/causal-lm.js';
import { toModelWeights } from '../weights/convert-weights.js';
import { type FolderOptions, ModelFolder } from './model-folder.js';

/** What `loadCausalLM` takes besides the folder. */
export interface LoadCausalLMOptions extends FolderOptions {
  /** Element type of the weights; default: as stored. */
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
 * shards. It is in evaluation mode, in the types of the file.
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
    dtype,
    cache,
    onProgress,
  });
  return makeCausalLM(checkpoint, config, generation);
}

/**
 * A model from its parsed `config.json`, the tensors of its checkpoint, which it takes over, and, where there is one,
 * `generation_config.json`.
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
  const model = new CausalLM({ ...read, tokens: { ...read.tokens, end } });
  const weights = toModelWeights(checkpoint, family, read);
  const [first] = Object.values(weights);
  if (first !== undefined) model.to(first.device).to(first.dtype);
  try {
    model.loadStateDict(weights);
  } catch (error) {
    throw new TesseraError(
      'model-invalid',
      `The weights do not fit config.json: ${(error as Error).message}`,
      { context: { family: read.family }, cause: error },
    );
  }
  return model.eval();
}
