/**
 * @file Adapters as files: `adapter_model.safetensors` and `adapter_config.json`, with the names of the PEFT library.
 */
import type { Module } from '@tessera/nn';
import { TesseraError } from '@tessera/shared';
import { type Tensor, loadCheckpoint, noGrad } from '@tessera/tensor';
import { JsonConfig } from '../config/json-config.js';
import { type FolderOptions, ModelFolder } from '../load/model-folder.js';
import { type FileSink, ModelSink } from '../load/model-sink.js';
import { adaptersOf, addAdapters, linearLayers, refuseAdapters, removeLora } from './lora.js';

const PREFIX = 'base_model.model.';
const WEIGHTS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';
/** A layer's name, and which of its two matrices it is. */
const NAME = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/;

const lastPart = (name: string): string => name.split('.').at(-1)!;

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
  // PEFT gives an adapter to every layer of such a name: where some have none, layers are named in full.
  const others = new Set(linearLayers(model).map(([name]) => lastPart(name)));
  const targets = [
    ...new Set(adapters.map(([name]) => (others.has(lastPart(name)) ? name : lastPart(name)))),
  ];
  const unlike = (field: 'rank' | 'alpha'): Record<string, number> =>
    Object.fromEntries(
      adapters
        .filter(([, adapter]) => adapter[field] !== first[1][field])
        .map(([name, adapter]) => [name, adapter[field]]),
    );
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: first[1].rank,
    lora_alpha: first[1].alpha,
    rank_pattern: unlike('rank'),
    alpha_pattern: unlike('alpha'),
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
 * Adds the adapters of a folder, or an address, to a model that has none. Returns the names of their layers. Which layers
 * those are, and their ranks, the weights say; `use_rslora` and `alpha_pattern` of the configuration are heeded.
 *
 * @throws model-invalid when they do not fit the model; model-unsupported for adapters of other kinds;
 * source-unreadable, safetensors-invalid, invalid-argument
 */
export async function loadLora(
  model: Module,
  folder: string | URL,
  options: FolderOptions = {},
): Promise<string[]> {
  refuseAdapters('loadLora', model);
  const files = new ModelFolder(folder, options);
  const json = await files.json(CONFIG);
  if (json === null)
    throw new TesseraError('model-invalid', `There is no ${CONFIG} in ${String(folder)}.`, {
      hints: ['Give the folder that saveLora() or PEFT wrote.'],
    });
  const config = JsonConfig.of(json, CONFIG);
  checkKind(config);
  const weights = await loadCheckpoint(files.at(WEIGHTS), options);
  const layers = addAdapters(model, shapesOf(weights, config));
  const own = loraState(model);
  const strange = [
    ...Object.keys(own).filter((name) => own[name]!.sizes.join() !== weights[name]?.sizes.join()),
    ...Object.keys(weights).filter((name) => own[name] === undefined),
  ];
  if (strange.length > 0) {
    removeLora(model);
    throw new TesseraError('model-invalid', `The adapters do not fit the model: ${strange[0]}.`, {
      context: { names: strange },
      hints: ['Load the model that they were trained beside.'],
    });
  }
  noGrad(() => {
    for (const [name, tensor] of Object.entries(own)) tensor.copy_(weights[name]!);
  });
  return layers;
}

function unsupportedAdapter(what: string): never {
  throw new TesseraError('model-unsupported', `${CONFIG}: ${what} is not supported.`, {
    hints: ["In PEFT, merge_and_unload() puts such adapters into the model's weights."],
  });
}

/** @throws model-unsupported for what is no plain LoRA */
function checkKind(config: JsonConfig): void {
  const kind = config.text('peft_type', 'LORA');
  if (kind !== 'LORA') unsupportedAdapter(`the type '${kind}'`);
  if (config.flag('use_dora', false)) unsupportedAdapter("'use_dora'");
}

/** Rank and alpha of each layer that has an adapter. @throws model-unsupported, model-invalid */
function shapesOf(
  weights: Readonly<Record<string, Tensor>>,
  config: JsonConfig,
): Map<string, { rank: number; alpha: number }> {
  const alphas = config.inner('alpha_pattern');
  const patterns = alphas.names().map((name) => {
    // PEFT takes names for expressions; those of a stranger's file are none here.
    if (!/^\^?[\w.]+\$?$/.test(name)) unsupportedAdapter(`the pattern '${name}'`);
    const plain = name.replace(/^\^|\$$/g, '');
    const isWhole = name.startsWith('^');
    return {
      matches: (layer: string) => layer === plain || (!isWhole && layer.endsWith(`.${plain}`)),
      alpha: alphas.number(name),
    };
  });
  const shapes = new Map<string, { rank: number; alpha: number }>();
  for (const [name, { ndim, sizes }] of Object.entries(weights)) {
    const found = NAME.exec(name);
    if (found === null || ndim !== 2) unsupportedAdapter(`the weight '${name}'`);
    if (found[2] === 'B') continue;
    const [layer, rank] = [found[1]!, sizes[0]!];
    const alpha =
      patterns.find(({ matches }) => matches(layer))?.alpha ?? config.number('lora_alpha', 8);
    shapes.set(layer, {
      rank,
      alpha: config.flag('use_rslora', false) ? alpha * Math.sqrt(rank) : alpha,
    });
  }
  return shapes;
}
