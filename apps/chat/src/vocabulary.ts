/**
 * @file From messages to tokens and back: the model's tokenizer and chat template.
 */
import { Template } from '@huggingface/jinja';
import type { Tokenizer } from '@huggingface/tokenizers';
import { TesseraError } from '@tessera/shared';
import { openTokenizer } from './open-tokenizer.js';

/** `tokenizer.json` and `tokenizer_config.json`, parsed. */
export interface VocabularyFiles {
  readonly tokenizer: object;
  readonly config: Readonly<Record<string, unknown>>;
}

/** What somebody says. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The text of a file of a model's folder by its name; null where there is none. */
export type ReadText = (name: string) => Promise<string | null>;

async function json(read: ReadText, name: string): Promise<unknown> {
  const text = await read(name);
  if (text === null) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new TesseraError('model-invalid', `${name}: ${(error as Error).message}.`);
  }
}

/** The files of the folder that is read; `where` names it in errors. @throws model-invalid */
export async function readVocabulary(read: ReadText, where: string): Promise<VocabularyFiles> {
  const tokenizer = await json(read, 'tokenizer.json');
  if (tokenizer === null)
    throw new TesseraError('model-invalid', `There is no tokenizer.json in ${where}.`, {
      hints: ['Give a folder that has it; in the terminal, --tokenizer FOLDER names another.'],
    });
  const config = ((await json(read, 'tokenizer_config.json')) ?? {}) as object;
  const template = await read('chat_template.jinja');
  return {
    tokenizer: tokenizer as object,
    config: { ...config, ...(template !== null && { chat_template: template }) },
  };
}

type Config = VocabularyFiles['config'];

/** The text of a token, which some files have as an object; null for what is no token. */
function tokenText(token: unknown): string | null {
  if (typeof token === 'string') return token;
  return (token as { content?: string } | null)?.content ?? null;
}

/** What templates know by name: `bos_token` and the like, of which only those that a tokenizer has are there. */
function namedTokens(config: Config): Readonly<Record<string, string>> {
  const all = { ...config, ...(config['extra_special_tokens'] as object | undefined) };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, token]): [string, string][] => {
      const text = name.endsWith('_token') ? tokenText(token) : null;
      return text === null ? [] : [[name, text]];
    }),
  );
}

/** Says that it is the template which cannot be read, or will not have these messages. */
function inTemplate<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new TesseraError('model-unsupported', `The chat template: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** The template of a file, or of several the one named `default`; null where there is none. */
function templateOf({ chat_template: given }: Config): Template | null {
  if (given === undefined || given === null) return null;
  const named = (
    Array.isArray(given) ? given : [{ name: 'default', template: given }]
  ) as readonly {
    readonly name: string;
    readonly template: string;
  }[];
  const found = named.find(({ name }) => name === 'default');
  if (found === undefined)
    throw new TesseraError(
      'model-unsupported',
      `Of the chat templates (${named.map(({ name }) => name).join(', ')}) none is the default one.`,
    );
  // Lines end in one way, as in Jinja.
  return inTemplate(() => new Template(found.template.replaceAll(/\r\n?/g, '\n')));
}

/** See the file header. */
export class Vocabulary {
  private readonly tokenizer: Tokenizer;
  private readonly template: Template | null;
  private readonly names: Readonly<Record<string, string>>;
  /** Whether spaces before punctuation go: never for merged bytes, whose spaces are the text's. */
  private readonly cleansUp: boolean;

  /** @throws model-unsupported */
  constructor(files: VocabularyFiles) {
    const { tokenizer, config } = files;
    this.tokenizer = openTokenizer(files);
    this.template = templateOf(config);
    this.names = namedTokens(config);
    const { model } = tokenizer as { model?: object };
    this.cleansUp = config['clean_up_tokenization_spaces'] === true && !('merges' in (model ?? {}));
  }

  /**
   * Tokens of a chat, up to where the model answers. Without a template the messages are one text,
   * which begins as `tokenizer.json` has texts begin.
   *
   * @throws model-unsupported for messages that the template refuses
   */
  prompt(messages: readonly Message[]): number[] {
    const { template, names } = this;
    if (template === null)
      return this.tokenizer.encode(messages.map(({ content }) => content).join('')).ids;
    // Templates ask whether these are none, which what is left out is not.
    const nothing = { tools: null, documents: null };
    const text = inTemplate(() =>
      template.render({ messages, ...nothing, add_generation_prompt: true, ...names }),
    );
    return this.tokenizer.encode(text, { add_special_tokens: false }).ids;
  }

  /** Text of an answer, without the tokens that end it. */
  text(tokens: readonly number[]): string {
    if (tokens.length === 0) return '';
    return this.tokenizer.decode([...tokens], {
      skip_special_tokens: true,
      clean_up_tokenization_spaces: this.cleansUp,
    });
  }
}
