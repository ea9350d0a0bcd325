/** @file The error for what a `config.json` asks of a model that it cannot do. */
import { TesseraError } from '@tessera/shared';

/** `model-unsupported`, with what there is instead. */
export function unsupported(what: string, value: string, known: readonly string[]): TesseraError {
  return new TesseraError('model-unsupported', `There is no ${what} '${value}' here.`, {
    context: { [what]: value },
    hints: [`Known are: ${known.join(', ')}.`],
  });
}
