/**
 * @file `saveCausalLM`: a model as a Hugging Face folder.
 */
import { familyOf } from '../config/families.js';
import { JsonConfig } from '../config/json-config.js';
import type { CausalLM } from '../model/causal-lm.js';
import { toCheckpointWeights } from '../weights/convert-weights.js';
import { type FileSink, ModelSink } from './model-sink.js';

/** What `saveCausalLM` takes besides. */
export interface SaveCausalLMOptions {
  /** Most bytes of weights in one file of a folder; more files get an index. */
  readonly maxShardBytes?: number;
}

/**
 * Writes `model.safetensors` (or shards and their index) and `config.json` into a folder, which is made if need be:
 * names and shapes are those of the family, as its own library reads them. In a page, give a function that takes the
 * files instead.
 *
 * @param config the family's `config.json`, which the model was made from
 * @throws model-unsupported, model-invalid, invalid-argument for a path where there is no file system
 * @example await saveCausalLM(model, async (name, content) => upload(`model/${name}`, content), config);
 */
export async function saveCausalLM(
  model: CausalLM,
  target: string | FileSink,
  config: Readonly<Record<string, unknown>>,
  options: SaveCausalLMOptions = {},
): Promise<void> {
  const json = JsonConfig.of(config);
  const family = familyOf(json);
  const weights = toCheckpointWeights(model.stateDict(), family, family.config(json));
  const sink = await ModelSink.open(target);
  await sink.tensors('model.safetensors', weights, options);
  // Last: a folder without it is no model.
  await sink.json('config.json', config);
}
