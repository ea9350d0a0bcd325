/**
 * @file Prompts of a batch as tensors: padded on the left to the longest.
 */
import { TesseraError } from '@tessera/shared';

/** Prompts: token numbers of one text, or of several. */
export type Prompts = readonly number[] | readonly (readonly number[])[];

/** The prompts of a batch. @throws invalid-argument */
export function promptsOf(prompts: Prompts, vocabSize: number): readonly (readonly number[])[] {
  const list = (
    typeof prompts[0] === 'number' ? [prompts] : prompts
  ) as readonly (readonly number[])[];
  const refuse = (what: string, hint: string): never => {
    throw new TesseraError('invalid-argument', `generate: ${what}.`, { hints: [hint] });
  };
  if (!Array.isArray(list) || list.length === 0)
    refuse('there is no prompt', 'Give token numbers: [1, 5, 7], or a list of these.');
  for (const prompt of list) {
    if (!Array.isArray(prompt) || prompt.length === 0)
      refuse('a prompt has no tokens', 'Begin a text with the token that begins texts.');
    const bad = (prompt as readonly number[]).find(
      (token) => !Number.isInteger(token) || token < 0 || token >= vocabSize,
    );
    if (bad !== undefined)
      refuse(`${bad} is no token`, `Tokens are whole numbers from 0 to ${vocabSize - 1}.`);
  }
  return list;
}

/** Rows of equal length, filled on the left. */
export function padLeft(rows: readonly (readonly number[])[], filler: number): number[][] {
  const length = Math.max(...rows.map((row) => row.length));
  return rows.map((row) => [...Array<number>(length - row.length).fill(filler), ...row]);
}
