/**
 * @file The tokenizer of a GGUF file in the form of `tokenizer.json`.
 *
 * Files have tokens and merges of byte-level vocabularies; how text is cut before is there as a name only, and only
 * names whose rule is known are taken.
 */
import { TesseraError } from '@tessera/shared';
import type { GgufMetadata } from '@tessera/transformers';
import type { VocabularyFiles } from './vocabulary.js';

/** How text is cut, by the name that files have for it. */
const CUTS: Readonly<Record<string, string>> = {
  'gpt-2': String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
  'llama-bpe': String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  qwen2: String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
};

/** Kinds of tokens that are not text: control, and those that users added. */
const CONTROL = 3;
const ADDED = 4;

const isWords = (list: unknown): list is readonly string[] =>
  Array.isArray(list) && list.every((word) => typeof word === 'string');

/** Has texts begin with a token, where they do. */
function beginning(does: unknown, token: string | undefined): object | null {
  if (does !== true || token === undefined) return null;
  const single = [
    { SpecialToken: { id: token, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
  ];
  return { type: 'TemplateProcessing', single, pair: single, special_tokens: {} };
}

/** See the file header. @throws model-unsupported, model-invalid */
export function ggufVocabulary(metadata: GgufMetadata): VocabularyFiles {
  const of = (name: string): unknown => metadata.get(`tokenizer.${name}`);
  const [model, pre] = [of('ggml.model'), of('ggml.pre') ?? 'gpt-2'];
  const cut = Object.hasOwn(CUTS, String(pre)) ? CUTS[String(pre)]! : null;
  if (model !== 'gpt2' || cut === null)
    throw new TesseraError(
      'model-unsupported',
      `The file's tokenizer is '${String(model)}' with '${String(pre)}'.`,
      { hints: ['Give the folder of a tokenizer.json of the same model: --tokenizer FOLDER.'] },
    );
  const tokens = of('ggml.tokens');
  const merges = of('ggml.merges') ?? [];
  const kinds = (of('ggml.token_type') ?? []) as readonly number[];
  if (!isWords(tokens) || !Array.isArray(merges))
    throw new TesseraError('model-invalid', 'The file has no list of tokens.', {
      hints: ['Give the folder of a tokenizer.json of the same model: --tokenizer FOLDER.'],
    });
  const name = (id: unknown): string | undefined =>
    typeof id === 'number' ? tokens[id] : undefined;
  const begin = name(of('ggml.bos_token_id'));
  return {
    tokenizer: {
      version: '1.0',
      normalizer: null,
      added_tokens: tokens.flatMap((content, id) =>
        kinds[id] === CONTROL || kinds[id] === ADDED
          ? [
              {
                id,
                content,
                special: kinds[id] === CONTROL,
                normalized: false,
                lstrip: false,
                rstrip: false,
                single_word: false,
              },
            ]
          : [],
      ),
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: cut }, behavior: 'Isolated', invert: false },
          { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
        ],
      },
      post_processor: beginning(of('ggml.add_bos_token') ?? pre === 'llama-bpe', begin),
      decoder: {
        type: 'ByteLevel',
        add_prefix_space: false,
        trim_offsets: false,
        use_regex: false,
      },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges,
      },
    },
    config: {
      chat_template: of('chat_template') ?? null,
      bos_token: begin ?? null,
      eos_token: name(of('ggml.eos_token_id')) ?? null,
      unk_token: name(of('ggml.unknown_token_id')) ?? null,
      pad_token: name(of('ggml.padding_token_id')) ?? null,
    },
  };
}
