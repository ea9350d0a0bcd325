/**
 * @file Command line of the example.
 */
import { parseArgs } from 'node:util';
import { DEFAULT_TEXT } from './files.js';

/** What to do. */
export interface Options {
  compile: boolean;
  steps: number;
  resume: string | null;
  save: string | null;
  export: string | null;
  text: string | URL;
  explain: boolean;
  characters: number;
}

export const USAGE = `usage: pnpm example:tiny-gpt [--compile] [--steps N] [--resume FILE] [--save FILE]
                             [--export FOLDER] [--text FILE] [--characters N] [--explain]

Trains a character-level GPT on a text, on the CPU, and lets it write.

  --compile       the training step as one compiled artifact
  --steps N       steps in total, those before --resume included (default 200)
  --save FILE     writes model, optimizer, schedule and random state at the end (.safetensors)
  --export FOLDER writes a Hugging Face folder at the end: GPT-2, its tokenizer, safetensors
  --resume FILE   continues as if there had been no interruption
  --text FILE     another text than the one that comes with the example
  --characters N  length of what it writes (default 400)
  --explain       what was compiled: graphs, guards, kernels, time per stage`;

/** Reads the arguments; null asks for the usage text. */
export function readOptions(argv: string[]): Options | null {
  const { values } = parseArgs({
    args: argv,
    options: {
      compile: { type: 'boolean', default: false },
      steps: { type: 'string', default: '200' },
      resume: { type: 'string' },
      save: { type: 'string' },
      export: { type: 'string' },
      text: { type: 'string' },
      characters: { type: 'string', default: '400' },
      explain: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const count = (name: string, value: string): number => {
    const n = Number(value);
    if (!Number.isInteger(n) || n < 0) throw new Error(`--${name} takes a number, not '${value}'.`);
    return n;
  };
  return {
    compile: values.compile || values.explain,
    steps: count('steps', values.steps),
    resume: values.resume ?? null,
    save: values.save ?? null,
    export: values.export ?? null,
    text: values.text ?? DEFAULT_TEXT,
    explain: values.explain,
    characters: count('characters', values.characters),
  };
}
