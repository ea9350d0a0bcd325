/**
 * @file A tiny model that chats: its tokens, template and configuration.
 */
import type { GgufMetadata, GgufValue } from '@tessera/transformers';

const LETTERS: readonly string[] = [...'abcdefghijklmnopqrstuvwxyz :'];
/** Tokens of the models of the tests. */
export const TOKENS: readonly string[] = [
  ...LETTERS.map((letter) => (letter === ' ' ? '\u0120' : letter)),
  'he',
  '<end>',
];
const END = TOKENS.length - 1;
const TEMPLATE =
  "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}<end>{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
/** Their tokenizer and template, as a GGUF header has them. */
export const METADATA: GgufMetadata = new Map<string, GgufValue>(
  Object.entries({
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'gpt-2',
    'tokenizer.ggml.tokens': TOKENS,
    'tokenizer.ggml.merges': ['h e'],
    'tokenizer.ggml.token_type': TOKENS.map((token) => (token === '<end>' ? 3 : 1)),
    'tokenizer.ggml.eos_token_id': END,
    'tokenizer.chat_template': TEMPLATE,
  }) as [string, GgufValue][],
);
/** `config.json` of the models. */
export const CONFIG: Readonly<Record<string, unknown>> = {
  model_type: 'llama',
  vocab_size: TOKENS.length,
  hidden_size: 32,
  intermediate_size: 32,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: 128,
  eos_token_id: END,
};
