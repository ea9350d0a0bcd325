/**
 * @file The tokenizer of a `tokenizer.json`, as the library reads it, where that is what the format means; what the library
 * takes for something else is put in words that it does take, or refused. Compared with `tokenizers` 0.23.
 */
import { Tokenizer } from '@huggingface/tokenizers';
import { TesseraError } from '@tessera/shared';
import type { VocabularyFiles } from './vocabulary.js';

/** Fields of a `tokenizer.json` that are looked at. */
interface Fields {
  readonly model?: { readonly type?: string; readonly byte_fallback?: boolean };
  readonly pre_tokenizer?: unknown;
  readonly decoder?: unknown;
  readonly added_tokens?: readonly { readonly content: string; readonly single_word?: boolean }[];
}

/** What the library would read as something else; null if there is nothing. */
function strangeIn({ model, pre_tokenizer: cut, added_tokens: added = [] }: Fields): string | null {
  const word = added.find(({ single_word: alone }) => alone === true);
  if (word !== undefined) return `the token '${word.content}' is looked for as a word of its own`;
  if (model?.type === 'Unigram' && model.byte_fallback === true)
    return 'what no piece stands for is cut into bytes';
  // Its letters and digits are those of ASCII there.
  if (JSON.stringify(cut ?? null).includes('"type":"Whitespace"')) return 'text is cut into words';
  return null;
}

/** `Metaspace` takes a space from the front whatever its scheme is; where that says `never`, a replacement does the same. */
function keepingSpaces(_key: string, value: unknown): unknown {
  const { type, prepend_scheme: scheme, replacement } = (value ?? {}) as Record<string, unknown>;
  if (type !== 'Metaspace' || scheme !== 'never') return value;
  return { type: 'Replace', pattern: { String: replacement }, content: ' ' };
}

/** See the file header. @throws model-unsupported */
export function openTokenizer({ tokenizer, config }: VocabularyFiles): Tokenizer {
  const fields = tokenizer as Fields;
  const refuse = (what: string, cause?: unknown): never => {
    throw new TesseraError('model-unsupported', `The tokenizer is not known here: ${what}.`, {
      cause,
    });
  };
  const strange = strangeIn(fields);
  if (strange !== null) refuse(strange);
  const decoder: unknown = JSON.parse(JSON.stringify(fields.decoder ?? null), keepingSpaces);
  try {
    return new Tokenizer({ ...tokenizer, decoder }, config);
  } catch (error) {
    return refuse((error as Error).message, error);
  }
}
