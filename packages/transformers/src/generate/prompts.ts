/**
 * @file Prompts of a batch as tensors: padded on the left to the longest.
 */
import { TesseraError } from '@tessera/shared';

/** Prompts: token numbers of one text, or of several. */
export type Prompts = readonly number[] | readonly (readonly number[])[];

/** The prompts of a batch. @throws invalid-argument */
export function promptsOf(prompts: Prompts, vocabSize: number): readonly (readonly number[])[] {
  if (!Array.isArray(prompts))
    refuse(
      `the prompt is ${kindOf(prompts)}, not an array of token numbers`,
      ArrayBuffer.isView(prompts)
        ? 'Give Array.from(tokens, Number).'
        : 'A tokenizer makes them of a text; those of a tensor are in await tensor.toArray().',
    );
  const list = (
    prompts.length > 0 && prompts.every((part) => !Array.isArray(part)) ? [prompts] : prompts
  ) as readonly (readonly number[])[];
  if (list.length === 0)
    refuse('there is no prompt', 'Give token numbers: [1, 5, 7], or a list of these.');
  for (const prompt of list) {
    if (!Array.isArray(prompt))
      refuse(`a prompt is ${kindOf(prompt)}`, 'Give an array of token numbers for each text.');
    if (prompt.length === 0)
      refuse('a prompt has no tokens', 'Begin a text with the token that begins texts.');
    const bad = prompt.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabSize);
    if (bad !== undefined)
      refuse(
        `${typeof bad === 'number' ? bad : kindOf(bad)} is no token`,
        `Tokens are whole numbers from 0 to ${vocabSize - 1}.`,
      );
  }
  return list;
}

/** The prompt of one text. @throws invalid-argument */
export function promptOf(prompt: readonly number[], vocabSize: number): readonly number[] {
  const rows = promptsOf(prompt, vocabSize);
  if (rows.length > 1)
    refuse(
      `there are ${rows.length} prompts`,
      'This one makes one text at a time: call it for each.',
    );
  return rows[0]!;
}

function refuse(what: string, hint: string): never {
  throw new TesseraError('invalid-argument', `generate: ${what}.`, { hints: [hint] });
}

/** What a value is called that should have been something else. */
function kindOf(value: unknown): string {
  if (typeof value === 'string') return 'a text';
  if (typeof value !== 'object' || value === null) return `${String(value)} (${typeof value})`;
  return `a ${value.constructor?.name ?? 'object'}`;
}

/** Rows of equal length, filled on the left. */
export function padLeft(rows: readonly (readonly number[])[], filler: number): number[][] {
  const length = Math.max(...rows.map((row) => row.length));
  return rows.map((row) => [...Array<number>(length - row.length).fill(filler), ...row]);
}
