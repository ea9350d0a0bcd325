/**
 * @file `saveCausalLM`: a model as a Hugging Face folder.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { familyOf } from '../config/families.js';
import { JsonConfig } from '../config/json-config.js';
import type { CausalLM } from '../model/causal-lm.js';
import { LoraLinear } from '../lora/lora-linear.js';
import { quantizationOf } from '../quantize/quantized-folder.js';
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
 * files instead. A quantized model is written in the decoder's names with a `quantization_config`, for `loadCausalLM`.
 *
 * @param config the family's `config.json`, which the model was made from
 * @throws model-unsupported, model-invalid, invalid-argument for a model with adapters, or a path
 * where there is no file system
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
  const read = family.config(json);
  if (model.modules().some((module) => module instanceof LoraLinear))
    throw new TesseraError(
      'invalid-argument',
      'The model has adapters, which a folder cannot hold.',
      {
        hints: [
          'Save them with saveLora(); mergeLora() and removeLora() put them into the weights.',
        ],
      },
    );
  checkOptionNames('saveCausalLM', options, { maxShardBytes: true });
  const quantization = quantizationOf(model);
  const state = model.stateDict();
  const weights = quantization === null ? toCheckpointWeights(state, family, read) : state;
  const { quantization_config: _before, ...plain } = config;
  const sink = await ModelSink.open(target);
  await sink.tensors('model.safetensors', weights, options);
  // Last: a folder without it is no model.
  await sink.json('config.json', {
    ...plain,
    ...(read.tied !== model.config.tied && { tie_word_embeddings: model.config.tied }),
    ...(quantization && { quantization_config: quantization }),
  });
}
