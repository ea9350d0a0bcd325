/**
 * @file Models small enough to test with, random and repeatable.
 */
import { manualSeed } from '@tessera/tensor';
import { CausalLM, readConfig } from '../../src/index.js';

/** What most families say in their `config.json`. */
export const LLAMA: Readonly<Record<string, unknown>> = {
  model_type: 'llama',
  vocab_size: 37,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  eos_token_id: 2,
  pad_token_id: 0,
};

/** GPT-2's words for the same sizes. */
export const GPT2: Readonly<Record<string, unknown>> = {
  model_type: 'gpt2',
  vocab_size: 37,
  n_embd: 16,
  n_head: 4,
  n_layer: 2,
  n_positions: 64,
};

/** A model with random weights, in evaluation mode. */
export function tinyModel(config: Readonly<Record<string, unknown>> = LLAMA): CausalLM {
  manualSeed(7);
  const model = new CausalLM(readConfig(config));
  // Wide enough that the likeliest token changes with the prompt.
  for (const parameter of model.parameters()) if (parameter.ndim > 1) parameter.detach().mul_(3);
  return model.eval();
}
