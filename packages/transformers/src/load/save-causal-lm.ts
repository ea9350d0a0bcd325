/**
 * @file `saveCausalLM`: a model as a Hugging Face folder.
 */
import { TesseraError, nodeBuiltin } from '@tessera/shared';
import { type Tensor, saveCheckpoint } from '@tessera/tensor';
import { familyOf } from '../config/families.js';
import { JsonConfig } from '../config/json-config.js';
import type { CausalLM } from '../model/causal-lm.js';
import { toCheckpointWeights } from '../weights/convert-weights.js';

interface NodeFiles {
  mkdir(path: string, options: { recursive: true }): Promise<unknown>;
  writeFile(path: string, text: string): Promise<void>;
}

/** What `saveCausalLM` takes besides. */
export interface SaveCausalLMOptions {
  /** Most bytes of weights in one file; more files get an index. */
  readonly maxShardBytes?: number;
}

/**
 * Writes `model.safetensors` (or shards and their index) and `config.json` into a folder, which is made if need be:
 * names and shapes are those of the family, as its own library reads them. Node only.
 *
 * @param config the family's `config.json`, which the model was made from
 * @throws model-unsupported, model-invalid, invalid-argument where there is no file system
 */
export async function saveCausalLM(
  model: CausalLM,
  folder: string,
  config: Readonly<Record<string, unknown>>,
  { maxShardBytes }: SaveCausalLMOptions = {},
): Promise<void> {
  const files = nodeBuiltin<NodeFiles>('node:fs/promises');
  if (files === null)
    throw new TesseraError('invalid-argument', 'There is no file system here to save a model to.', {
      hints: ['Make the bytes with serializeSafetensors(model.stateDict()) instead.'],
    });
  const json = JsonConfig.of(config);
  const family = familyOf(json);
  const weights: Record<string, Tensor> = toCheckpointWeights(
    model.stateDict(),
    family,
    family.config(json),
  );
  await files.mkdir(folder, { recursive: true });
  const options = maxShardBytes === undefined ? {} : { maxShardBytes };
  await saveCheckpoint(`${folder}/model.safetensors`, weights, {
    ...options,
    metadata: { format: 'pt' },
  });
  // Last: a folder without it is no model.
  await files.writeFile(`${folder}/config.json`, `${JSON.stringify(config, null, 2)}\n`);
}
