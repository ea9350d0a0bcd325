/**
 * @file From messages to tokens and back: the model's tokenizer and chat template.
 */
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import { TesseraError } from '@tessera/shared';

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

/** The text of a token, which some files have as an object. */
function tokenText(token: unknown): string {
  if (typeof token === 'string') return token;
  return (token as { content?: string } | null)?.content ?? '';
}

/** See the file header. */
export class Vocabulary {
  private readonly tokenizer: Tokenizer;
  private readonly template: Template | null;
  private readonly names: { readonly bos_token: string; readonly eos_token: string };

  constructor({ tokenizer, config }: VocabularyFiles) {
    this.tokenizer = new Tokenizer(tokenizer, config);
    const { chat_template: template } = config;
    this.template = typeof template === 'string' ? new Template(template) : null;
    this.names = {
      bos_token: tokenText(config['bos_token']),
      eos_token: tokenText(config['eos_token']),
    };
  }

  /** Tokens of a chat, up to where the model answers. Without a template the messages are one text. */
  prompt(messages: readonly Message[]): number[] {
    const text =
      this.template === null
        ? this.names.bos_token + messages.map(({ content }) => content).join('')
        : this.template.render({ messages, add_generation_prompt: true, ...this.names });
    return this.tokenizer.encode(text, { add_special_tokens: false }).ids;
  }

  /** Text of an answer, without the tokens that end it. */
  text(tokens: readonly number[]): string {
    return this.tokenizer.decode([...tokens], { skip_special_tokens: true });
  }
}
