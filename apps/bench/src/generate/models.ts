/**
 * @file Language models with random weights in real shapes.
 */

/** A model that text is generated from. */
export interface GenerateModel {
  readonly name: string;
  readonly about: string;
  /** What its `config.json` would say. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Layers that are measured unless others are asked for, where the whole does not fit memory. */
  readonly fittingLayers?: number;
}

const llama = (
  width: number,
  layers: number,
  heads: number,
  kvHeads: number,
  feedForward: number,
  vocabulary: number,
): Readonly<Record<string, unknown>> => ({
  model_type: 'llama',
  hidden_size: width,
  intermediate_size: feedForward,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  vocab_size: vocabulary,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  hidden_act: 'silu',
  tie_word_embeddings: true,
  bos_token_id: 0,
  eos_token_id: null,
});

/** Field of the layers in each `config.json`. */
const layersOf = ({ config }: GenerateModel): string =>
  config['model_type'] === 'gpt2' ? 'n_layer' : 'num_hidden_layers';

/** The model with as many layers as asked for, or as fit; what it is about says so. */
export function withLayers(model: GenerateModel, asked: number | null): GenerateModel {
  const field = layersOf(model);
  const all = model.config[field] as number;
  const layers = Math.min(all, asked ?? model.fittingLayers ?? all);
  if (layers === all) return model;
  const about = `${model.about}, ${layers} of its ${all} layers`;
  return { ...model, about, config: { ...model.config, [field]: layers } };
}

/** All of them. */
export const GENERATE_MODELS: readonly GenerateModel[] = [
  {
    name: 'small',
    about: 'Llama of 4 layers of width 256',
    config: llama(256, 4, 4, 4, 768, 4096),
  },
  {
    name: 'gpt2',
    about: 'GPT-2 124M',
    config: {
      model_type: 'gpt2',
      n_embd: 768,
      n_layer: 12,
      n_head: 12,
      n_positions: 1024,
      vocab_size: 50257,
      layer_norm_epsilon: 1e-5,
      activation_function: 'gelu_new',
      bos_token_id: 50256,
      eos_token_id: null,
    },
  },
  {
    name: 'llama1b',
    about: 'Llama 3.2 1B',
    config: llama(2048, 16, 32, 8, 8192, 128256),
    fittingLayers: 4,
  },
];
