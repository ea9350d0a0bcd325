/**
 * @file The command line of `pnpm chat`.
 */
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';
import type { DeviceType } from '@tessera/tensor';

export const USAGE = `pnpm chat FOLDER|FILE.gguf [options]

  --system TEXT         what the model is told first
  --tokenizer FOLDER    tokenizer.json, for files that hold none that is known here
  --temperature N       0 takes the likeliest token (default: what the model asks for, or 0.7)
  --top-p N             only the likeliest tokens of this share (default: likewise, or 0.95)
  --max-tokens N        most tokens of an answer (default 256)
  --max-length N        tokens that are kept in mind (default 2048, or what the model has)
  --seed N              the same answers again
  --quantize 4|8        rounds the weights to so many bits
  --draft FOLDER|FILE   a smaller model with the same tokens, which proposes several at once
  --device cpu|wgpu     where it runs (default cpu)

Lines of the input are messages; an empty line or its end ends the chat.`;

/** See the file header. */
export interface ChatCommand {
  readonly model: string;
  readonly system: string | undefined;
  readonly tokenizer: string | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly maxTokens: number;
  readonly maxLength: number | undefined;
  readonly seed: number | undefined;
  readonly quantize: 4 | 8 | null;
  readonly draft: string | undefined;
  readonly device: DeviceType;
}

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [USAGE.split('\n')[0]!] });
}

/** The command that these arguments are; null where help is asked for. @throws invalid-argument */
export function readCommand(args: readonly string[]): ChatCommand | null {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      system: text,
      tokenizer: text,
      temperature: text,
      'top-p': text,
      'max-tokens': text,
      'max-length': text,
      seed: text,
      quantize: text,
      draft: text,
      device: text,
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return null;
  const [model, ...more] = positionals;
  if (model === undefined || more.length > 0) refuse('Give the folder or the file of one model.');
  const number = (name: 'temperature' | 'top-p' | 'max-tokens' | 'max-length' | 'seed') => {
    const given = values[name];
    if (given === undefined) return undefined;
    const value = Number(given);
    if (given.trim() === '' || !Number.isFinite(value))
      refuse(`--${name} must be a number, not '${given}'.`);
    return value;
  };
  const { quantize, device = 'cpu' } = values;
  if (quantize !== undefined && quantize !== '4' && quantize !== '8')
    refuse(`--quantize must be 4 or 8, not '${quantize}'.`);
  if (device !== 'cpu' && device !== 'wgpu')
    refuse(`--device must be cpu or wgpu, not '${device}'.`);
  return {
    model,
    system: values.system,
    tokenizer: values.tokenizer,
    temperature: number('temperature'),
    topP: number('top-p'),
    maxTokens: number('max-tokens') ?? 256,
    maxLength: number('max-length'),
    seed: number('seed'),
    draft: values.draft,
    quantize: quantize === undefined ? null : quantize === '4' ? 4 : 8,
    device,
  };
}
