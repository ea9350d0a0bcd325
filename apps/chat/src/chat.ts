/**
 * @file A chat: what was said, and the model that answers it piece by piece.
 */
import { TesseraError } from '@tessera/shared';
import {
  type GenerateOptions,
  SpeculativeGenerator,
  type TextGenerator,
} from '@tessera/transformers';
import type { Message, Vocabulary } from './vocabulary.js';

/** What writes the answers: a model alone, or one with a draft. */
export type Writer = TextGenerator | SpeculativeGenerator;

/** Tokens as they are made, one or some at a time. */
async function* tokensOf(
  writer: Writer,
  prompt: readonly number[],
  options: GenerateOptions,
): AsyncGenerator<readonly number[]> {
  if (writer instanceof SpeculativeGenerator) yield* writer.stream(prompt, options);
  else for await (const { tokens } of writer.stream(prompt, options)) yield [tokens[0]!];
}

/** How answers are made. */
export type AnswerOptions = GenerateOptions & { readonly maxNewTokens: number };

/** See the file header. */
export class Chat {
  private messages: Message[];

  constructor(
    private readonly generator: Writer,
    private readonly vocabulary: Vocabulary,
    private readonly options: AnswerOptions,
    system?: string,
  ) {
    this.messages = system === undefined ? [] : [{ role: 'system', content: system }];
  }

  /**
   * Pieces of the answer to a message, as they are made. Of a chat that has become too long, the oldest messages are
   * left out. Of an answer whose reader stops early, what was given is remembered.
   *
   * @param options instead of those of the chat, for this answer
   * @throws invalid-argument for a message that is too long by itself
   */
  async *answer(content: string, options: Partial<AnswerOptions> = {}): AsyncGenerator<string> {
    const messages: Message[] = [...this.messages, { role: 'user', content }];
    const prompt = this.fitting(messages);
    const room = this.generator.maxLength - prompt.length;
    const settings = { ...this.options, ...options };
    const maxNewTokens = Math.min(settings.maxNewTokens, room);
    const tokens: number[] = [];
    let given = '';
    try {
      const decode = (made: readonly number[]): string => this.vocabulary.text(made);
      const asked = { decode, ...settings, maxNewTokens };
      for await (const made of tokensOf(this.generator, prompt, asked)) {
        tokens.push(...made);
        const text = this.vocabulary.text(tokens);
        // A character whose last bytes have not come yet.
        if (text.endsWith('\uFFFD')) continue;
        const piece = text.slice(given.length);
        given = text;
        yield piece;
      }
      const whole = this.vocabulary.text(tokens);
      const rest = whole.slice(given.length);
      given = whole;
      if (rest !== '') yield rest;
    } finally {
      if (tokens.length > 0) this.messages = [...messages, { role: 'assistant', content: given }];
    }
  }

  /** Tokens of the messages, of which the oldest go until there is room for an answer. */
  private fitting(messages: Message[]): number[] {
    const room = this.generator.maxLength - 1;
    const first = messages[0]!.role === 'system' ? 1 : 0;
    for (;;) {
      const prompt = this.vocabulary.prompt(messages);
      if (prompt.length > 0 && prompt.length <= room) return prompt;
      if (prompt.length === 0)
        throw new TesseraError('invalid-argument', 'The message has no tokens.');
      if (messages.length - first < 3)
        throw new TesseraError(
          'invalid-argument',
          `The message has ${prompt.length} tokens; there is room for ${room}.`,
          { hints: ['Give a shorter message, or more room: --max-length in the terminal.'] },
        );
      messages.splice(first, 2);
    }
  }
}
