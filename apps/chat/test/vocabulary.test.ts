/**
 * @file Messages to tokens and back, as `apply_chat_template`, `encode` and `decode` of transformers 5.18 do it.
 */
import { describe, expect, it } from 'vitest';
import { ggufVocabulary } from '../src/gguf-vocabulary.js';
import { Vocabulary } from '../src/vocabulary.js';
import { METADATA } from './support/tiny-chat.js';

const WORDS = ['a', 'b', '▁a', '▁b', '▁.', '<s>', '</s>', '<pad>'];
const special = (content: string, rest: object = {}): object => ({
  id: WORDS.indexOf(content),
  content,
  special: true,
  normalized: false,
  ...rest,
});
const BEGINS = {
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [],
  special_tokens: {},
};
/** A tokenizer of pieces; `tokenizers` makes such files. */
const PIECES = {
  normalizer: null,
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'never', split: true },
  post_processor: null as object | null,
  decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'never', split: true },
  model: { type: 'Unigram', unk_id: 0, vocab: WORDS.map((word) => [word, -1]) } as object,
  added_tokens: ['<s>', '</s>', '<pad>'].map((token) => special(token)),
};
const NAMES = { bos_token: '<s>', eos_token: { content: '</s>' }, unk_token: 'a' };
const user = (content: string) => [{ role: 'user', content }] as const;

/** What a template writes, in letters that the tokenizer has. */
function written(template: unknown, config: object = NAMES): string {
  const vocabulary = new Vocabulary({
    tokenizer: PIECES,
    config: { ...config, chat_template: template },
  });
  return vocabulary
    .prompt(user('b'))
    .map((id) => WORDS[id])
    .join('');
}

describe('chat templates', () => {
  it('know the tokens that the tokenizer has, and only these', () => {
    const template =
      '{{ bos_token }}{{ eos_token }}{% if unk_token is defined %}a{% endif %}{% if pad_token is defined %}b{% endif %}';
    expect(written(template)).toBe('<s></s>a');
    expect(written(template, { ...NAMES, pad_token: '<pad>' })).toBe('<s></s>ab');
    expect(written('{{ mask_token }}b', { extra_special_tokens: { mask_token: '<pad>' } })).toBe(
      '<pad>b',
    );
  });

  it('are told that there are no tools and documents', () => {
    expect(
      written('{% if tools is not none %}a{% endif %}{% if documents is none %}b{% endif %}'),
    ).toBe('b');
  });

  it('of several are the one named default', () => {
    const named = (name: string, template: string) => ({ name, template });
    expect(written([named('tool_use', 'a'), named('default', 'b{{ messages[0].content }}')])).toBe(
      'bb',
    );
    expect(() => written([named('rag', 'a'), named('tool_use', 'b')])).toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining('(rag, tool_use)'),
      }),
    );
  });

  it('have lines that end in one way', () => {
    expect(written('{% if true %}a{% endif %}\r\nb')).toBe('ab');
  });

  it.each([
    ["{{ raise_exception('Roles must alternate') }}", 'Roles must alternate'],
    ['{% if %}', 'The chat template'],
    ["{{ 'a'|strange }}", 'strange'],
  ])('say what they refuse: %s', (template, message) => {
    expect(() => written(template)).toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining(message),
      }),
    );
  });
});

describe('texts', () => {
  it('begin without a template as tokenizer.json has them begin', () => {
    const ids = (post_processor: object | null) =>
      new Vocabulary({ tokenizer: { ...PIECES, post_processor }, config: NAMES }).prompt(
        user('b a'),
      );
    expect(ids(null)).toEqual([1, 2]);
    expect(ids(BEGINS)).toEqual([5, 1, 2]);
  });

  it('of GGUF files begin as the file says', () => {
    const begins = (...more: [string, unknown][]) =>
      new Vocabulary(
        ggufVocabulary(
          new Map([
            ...METADATA,
            ['tokenizer.chat_template', null],
            ['tokenizer.ggml.bos_token_id', 0],
            ...more,
          ] as never),
        ),
      ).prompt(user('b'));
    expect(begins()).toEqual([1]);
    expect(begins(['tokenizer.ggml.add_bos_token', true])).toEqual([0, 1]);
    expect(begins(['tokenizer.ggml.pre', 'llama-bpe'])).toEqual([0, 1]);
  });

  it('of GGUF files are refused where tokens are no words', () => {
    const refused = (): unknown =>
      ggufVocabulary(new Map([...METADATA, ['tokenizer.ggml.tokens', ['a', 7]]] as never));
    expect(refused).toThrow(expect.objectContaining({ code: 'model-invalid' }) as Error);
  });

  it('keep their spaces, but those before punctuation where the file says so and pieces are no merged bytes', () => {
    const text = (config: Readonly<Record<string, unknown>>, model: object = PIECES.model) =>
      new Vocabulary({ tokenizer: { ...PIECES, model }, config }).text([2, 4, 6]);
    const merged = {
      type: 'BPE',
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
      merges: [],
    };
    expect(text({})).toBe(' a .');
    expect(text({ clean_up_tokenization_spaces: true })).toBe(' a.');
    expect(text({ clean_up_tokenization_spaces: true }, merged)).toBe(' a .');
    expect(new Vocabulary({ tokenizer: PIECES, config: {} }).text([])).toBe('');
  });
});

describe('tokenizers that the library reads as something else are refused', () => {
  it.each([
    [{ added_tokens: [special('<s>', { single_word: true })] }, "'<s>' is looked for as a word"],
    [{ model: { ...PIECES.model, byte_fallback: true } }, 'cut into bytes'],
    [
      { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Whitespace' }] } },
      'into words',
    ],
    [{ normalizer: { type: 'Nmt' } }, 'Unknown Normalizer type: Nmt'],
  ])('%j', (part, message) => {
    expect(() => new Vocabulary({ tokenizer: { ...PIECES, ...part }, config: {} })).toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining(message),
      }),
    );
  });
});
