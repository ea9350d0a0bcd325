/**
 * @file Command line of the demo.
 */
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';

/** What to run. */
export interface DemoOptions {
  readonly device: 'cpu' | 'wgpu';
  readonly model: 'mlp' | 'cnn';
  readonly epochs: number;
  readonly json: boolean;
}

export const USAGE = `usage: pnpm demo [--device cpu|wgpu] [--model mlp|cnn] [--epochs N] [--json]

Trains a classifier on 1,797 real handwritten digits, the whole training step compiled.`;

function oneOf<T extends string>(name: string, value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) {
    throw new TesseraError(
      'invalid-argument',
      `--${name} must be ${choices.join(' or ')}, not '${value}'.`,
      { hints: [USAGE.split('\n')[0]!] },
    );
  }
  return found;
}

/** Reads the arguments; null asks for the usage text. @throws invalid-argument */
export function readOptions(argv: readonly string[]): DemoOptions | null {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...argv],
      options: {
        device: { type: 'string', default: 'cpu' },
        model: { type: 'string', default: 'mlp' },
        epochs: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    throw new TesseraError('invalid-argument', (error as Error).message, {
      hints: [USAGE.split('\n')[0]!],
    });
  }
  if (values.help) return null;
  const model = oneOf('model', values.model, ['mlp', 'cnn']);
  const epochs = values.epochs === undefined ? (model === 'mlp' ? 5 : 3) : Number(values.epochs);
  if (!Number.isInteger(epochs) || epochs < 1) {
    throw new TesseraError(
      'invalid-argument',
      `--epochs must be a positive whole number, not '${values.epochs}'.`,
      { hints: [USAGE.split('\n')[0]!] },
    );
  }
  return {
    device: oneOf('device', values.device, ['cpu', 'wgpu']),
    model,
    epochs,
    json: values.json,
  };
}
