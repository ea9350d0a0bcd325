/**
 * @file Adapters as files: `adapter_model.safetensors` and `adapter_config.json`, with the names of the PEFT library.
 */
import type { Module } from '@tessera/nn';
import { TesseraError } from '@tessera/shared';
import { type Tensor, loadCheckpoint, noGrad } from '@tessera/tensor';
import { JsonConfig } from '../config/json-config.js';
import { type FolderOptions, ModelFolder } from '../load/model-folder.js';
import { type FileSink, ModelSink } from '../load/model-sink.js';
import { addLora, adaptersOf, removeLora } from './lora.js';

const PREFIX = 'base_model.model.';
const WEIGHTS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';

/** Weights of a model's adapters under PEFT's names, detached; they share memory with the model. */
export function loraState(model: Module): Record<string, Tensor> {
  return Object.fromEntries(
    adaptersOf(model).flatMap(([name, { lora_A: a, lora_B: b }]) => [
      [`${PREFIX}${name}.lora_A.weight`, a.weight.detach()],
      [`${PREFIX}${name}.lora_B.weight`, b.weight.detach()],
    ]),
  );
}

/**
 * Writes a model's adapters into a folder, which is made if need be, or gives the files to a function, as pages need
 * it. Layers have the decoder's names, which are those of PEFT for families of Llama's kind.
 *
 * @throws invalid-argument where there are no adapters, or for a path where there is no file system
 */
export async function saveLora(model: Module, target: string | FileSink): Promise<void> {
  const adapters = adaptersOf(model);
  const [first] = adapters;
  if (first === undefined)
    throw new TesseraError('invalid-argument', 'The model has no adapters.', {
      hints: ['Add them with addLora() first.'],
    });
  const targets = [...new Set(adapters.map(([name]) => name.split('.').at(-1)!))];
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: first[1].rank,
    lora_alpha: first[1].alpha,
    target_modules: targets,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
  };
  const sink = await ModelSink.open(target);
  await sink.tensors(WEIGHTS, loraState(model));
  await sink.json(CONFIG, config);
}

/**
 * Adds the adapters of a folder, or an address, to a model that has none. Returns the names of their layers.
 *
 * @throws model-invalid when they do not fit the model; source-unreadable, safetensors-invalid, invalid-argument
 */
export async function loadLora(
  model: Module,
  folder: string | URL,
  options: FolderOptions = {},
): Promise<string[]> {
  const files = new ModelFolder(folder, options);
  const json = await files.json(CONFIG);
  if (json === null)
    throw new TesseraError('model-invalid', `There is no ${CONFIG} in ${String(folder)}.`);
  const config = JsonConfig.of(json);
  const rank = config.size('r');
  const names = config.textsOrNull('target_modules');
  if (names === null)
    throw new TesseraError('model-invalid', `${CONFIG}: target_modules is no list of names.`);
  const weights = await loadCheckpoint(files.at(WEIGHTS), options);
  const layers = addLora(model, {
    rank,
    alpha: config.number('lora_alpha', rank),
    targets: names,
  });
  const own = loraState(model);
  const strange = [
    ...Object.keys(own).filter((name) => own[name]!.sizes.join() !== weights[name]?.sizes.join()),
    ...Object.keys(weights).filter((name) => own[name] === undefined),
  ];
  if (strange.length > 0) {
    removeLora(model);
    throw new TesseraError('model-invalid', `The adapters do not fit the model: ${strange[0]}.`, {
      context: { names: strange },
    });
  }
  noGrad(() => {
    for (const [name, tensor] of Object.entries(own)) tensor.copy_(weights[name]!);
  });
  return layers;
}
