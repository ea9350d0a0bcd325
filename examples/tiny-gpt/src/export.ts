/**
 * @file The model as the files of a Hugging Face folder: GPT-2 to `transformers` and to `@tessera/transformers`, with
 * a tokenizer whose tokens are characters.
 */
import { type Tensor, serializeSafetensors } from '@tessera/tensor';
import type { GPT } from './model.js';
import type { Text } from './text.js';

/** Contents of files by name. */
export type Folder = Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;

/** What GPT-2's `config.json` calls the sizes. */
function configOf({ vocabSize, blockSize, layers, heads, width, dropout }: GPT['config']): object {
  return {
    architectures: ['GPT2LMHeadModel'],
    model_type: 'gpt2',
    vocab_size: vocabSize,
    n_positions: blockSize,
    n_embd: width,
    n_layer: layers,
    n_head: heads,
    activation_function: 'gelu',
    tie_word_embeddings: false,
    resid_pdrop: dropout,
    embd_pdrop: dropout,
    attn_pdrop: dropout,
    bos_token_id: null,
    eos_token_id: null,
  };
}

/** GPT-2's names; it stores the matrices of its blocks as [in, out]. */
function weightsOf(model: GPT): Record<string, Tensor> {
  const isBlockMatrix = /^h\.\d+\.(?:attn|mlp)\..*\.weight$/;
  return Object.fromEntries(
    Object.entries(model.stateDict()).map(([name, value]) => [
      name.startsWith('lm_head') ? name : `transformer.${name}`,
      isBlockMatrix.test(name) ? value.t().contiguous() : value,
    ]),
  );
}

/** Merges nothing: each character is a token, spaces and line ends too. */
function tokenizerOf({ chars }: Text): object {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(chars.map((char, i) => [char, i])),
      merges: [],
    },
  };
}

/** The files of the folder. */
export function huggingFaceFolder(model: GPT, text: Text): Folder {
  const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
  const weights = serializeSafetensors(weightsOf(model), { format: 'pt' });
  return {
    'config.json': json(configOf(model.config)),
    'generation_config.json': json({ do_sample: true, temperature: 0.8 }),
    'model.safetensors': weights as Uint8Array<ArrayBuffer>,
    'tokenizer.json': json(tokenizerOf(text)),
    'tokenizer_config.json': json({
      tokenizer_class: 'PreTrainedTokenizerFast',
      model_max_length: model.config.blockSize,
      clean_up_tokenization_spaces: false,
    }),
  };
}
