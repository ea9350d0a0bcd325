/**
 * @file Language models with random weights in real shapes.
 */

/** A model that text is generated from. */
export interface GenerateModel {
  readonly name: string;
  readonly about: string;
  /** What its `config.json` would say. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Whether it runs unless asked for: large ones do not. */
  readonly isDefault: boolean;
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

/** All of them. */
export const GENERATE_MODELS: readonly GenerateModel[] = [
  {
    name: 'small',
    about: 'Llama of 4 layers of width 256',
    config: llama(256, 4, 4, 4, 768, 4096),
    isDefault: true,
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
    isDefault: true,
  },
  {
    name: 'llama1b',
    about: 'Llama 3.2 1B',
    config: llama(2048, 16, 32, 8, 8192, 128256),
    isDefault: false,
  },
];
