/**
 * @file The answers of a batch while they are made: which have ended, and why.
 */
import type { DecoderConfig } from '../config/decoder-config.js';
import type { GenerateOptions } from './options.js';

/** See the file header. */
export class Texts {
  readonly answers: number[][];
  private readonly ended: boolean[];
  private readonly ends: ReadonlySet<number>;

  constructor(
    count: number,
    { tokens }: DecoderConfig,
    private readonly options: GenerateOptions,
  ) {
    this.answers = Array.from({ length: count }, () => []);
    this.ended = Array.from({ length: count }, () => false);
    this.ends = new Set(options.endTokens ?? tokens.end);
  }

  get allEnded(): boolean {
    return this.ended.every(Boolean);
  }

  /** An answer, as long as the longest one. */
  padded(i: number): number[] {
    const length = Math.max(...this.answers.map((answer) => answer.length));
    return Array.from({ length }, (_, at) => this.answers[i]![at] ?? 0);
  }

  /** Takes in a token for each text; null for those that had ended. */
  take(tokens: readonly number[]): (number | null)[] {
    return tokens.map((token, i) => {
      if (this.ended[i]!) return null;
      const answer = this.answers[i]!;
      answer.push(token);
      this.ended[i] = this.ends.has(token) || this.hasStopString(answer);
      return token;
    });
  }

  /**
   * A stop string may end in the middle of a token: it is looked for in the text of the last tokens. A token may be as
   * little as one byte, and a character (UTF-16 unit) up to three of them; those before it may be half a character.
   */
  private hasStopString(answer: readonly number[]): boolean {
    const { stopStrings = [], decode } = this.options;
    if (stopStrings.length === 0 || decode === undefined) return false;
    const longest = Math.max(...stopStrings.map((text) => text.length));
    const tail = decode(answer.slice(-4 * longest - 8));
    return stopStrings.some((text) => tail.includes(text));
  }
}
