/**
 * @file Tokens that may not come next, from what a text is so far: computed here and not on the device, as they depend on
 * whole texts. They are those of `transformers`' logits processors.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, tensor } from '@tessera/tensor';

/** See the file header. */
export interface TokenRuleOptions {
  /** No text ends before it has so many tokens. */
  readonly minNewTokens?: number;
  /** Tokens that never come. */
  readonly suppressTokens?: readonly number[];
  /** Tokens that no answer begins with. */
  readonly beginSuppressTokens?: readonly number[];
  /** Rows of tokens that never come, a single one or several in this order. */
  readonly badWords?: readonly (readonly number[])[];
  /** So many tokens never come twice in the same order, the prompt's among them. */
  readonly noRepeatNgramSize?: number;
}

function refuse(name: string, value: unknown, wanted: string): never {
  throw new TesseraError(
    'invalid-argument',
    `generate: ${name} is ${JSON.stringify(value)}, not ${wanted}.`,
    { context: { option: name, value } },
  );
}

const areTokens = (list: unknown, vocabSize: number): boolean =>
  Array.isArray(list) && list.every((token) => isWhole(token) && token < vocabSize);

const isWhole = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

/** Names of options that are rules. */
export function ruleNames(options: TokenRuleOptions): string[] {
  const { minNewTokens = 0, noRepeatNgramSize = 0 } = options;
  const lists = ['suppressTokens', 'beginSuppressTokens', 'badWords'] as const;
  return [
    ...(minNewTokens > 0 ? ['minNewTokens'] : []),
    ...(noRepeatNgramSize > 0 ? ['noRepeatNgramSize'] : []),
    ...lists.filter((name) => (options[name]?.length ?? 0) > 0),
  ];
}

/** See the file header. */
export class TokenRules {
  private constructor(
    private readonly options: TokenRuleOptions,
    private readonly ends: readonly number[],
  ) {}

  /** The rules of a call; null if there are none. @throws invalid-argument */
  static of(
    options: TokenRuleOptions,
    ends: readonly number[],
    vocabSize: number,
  ): TokenRules | null {
    for (const name of ['minNewTokens', 'noRepeatNgramSize'] as const) {
      const value = options[name] ?? 0;
      if (!Number.isInteger(value) || value < 0) refuse(name, value, 'a whole number from 0');
    }
    const wanted = `tokens from 0 to ${vocabSize - 1}`;
    for (const name of ['suppressTokens', 'beginSuppressTokens'] as const)
      if (!areTokens(options[name] ?? [], vocabSize)) refuse(name, options[name], wanted);
    const { badWords = [] } = options;
    if (
      !Array.isArray(badWords) ||
      badWords.some((word) => !areTokens(word, vocabSize) || word.length === 0)
    )
      refuse('badWords', badWords, `a list of lists of ${wanted}`);
    return ruleNames(options).length === 0 ? null : new TokenRules(options, ends);
  }

  /** Tokens that may not follow a text, whose last `made` tokens are the answer. */
  private banned(text: readonly number[], made: number): number[] {
    const { minNewTokens = 0, suppressTokens = [], beginSuppressTokens = [] } = this.options;
    const { badWords = [], noRepeatNgramSize: size = 0 } = this.options;
    const banned = [...suppressTokens];
    if (made === 0) banned.push(...beginSuppressTokens);
    if (made < minNewTokens) banned.push(...this.ends);
    const endsWith = (row: readonly number[], at = text.length): boolean =>
      at >= row.length && row.every((token, i) => text[at - row.length + i] === token);
    for (const word of badWords) {
      const isEnd = word.length === 1 && this.ends.includes(word[0]!);
      if (!isEnd && endsWith(word.slice(0, -1))) banned.push(word.at(-1)!);
    }
    if (size > 0 && text.length >= size) {
      const last = text.slice(text.length - size + 1);
      for (let at = size - 1; at < text.length; at++)
        if (endsWith(last, at)) banned.push(text[at]!);
    }
    return banned;
  }

  /** Marks what may not follow each text, in [texts, vocabSize] of bool. */
  mark(flags: Tensor, texts: readonly (readonly number[])[], made: number): void {
    flags.fill_(false);
    for (const [i, text] of texts.entries()) markRow(flags, i, this.banned(text, made));
  }
}

/** Sets places of a row of flags. */
export function markRow(flags: Tensor, row: number, places: readonly number[]): void {
  if (places.length === 0) return;
  const at = tensor([...places], { dtype: 'int64', device: flags.device });
  flags.select(0, row).indexFill_(0, at, true);
}
