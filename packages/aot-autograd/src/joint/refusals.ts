/**
 * @file Refusals: errors about programs that are right in eager mode and have no functional form with one backward graph.
 * Whoever runs graphs may run such a program operator by operator.
 */
import { TesseraError, isTesseraError } from '@tessera/shared';

/** See the file header. */
export interface Refusal extends TesseraError {
  readonly code:
    | 'aot-unsupported'
    | 'inplace-version'
    | 'inplace-leaf'
    | 'inplace-view'
    | 'inplace-overlap'
    | 'backward-twice';
}

const REFUSALS: readonly Refusal['code'][] = [
  'aot-unsupported',
  'inplace-version',
  'inplace-leaf',
  'inplace-view',
  'inplace-overlap',
  'backward-twice',
];

/** Whether an error is a refusal. */
export function isRefusal(error: unknown): error is Refusal {
  return REFUSALS.some((code) => isTesseraError(error, code));
}

/** An error of a derivative: eager code has it when somebody differentiates, and is right without. */
export function asRefusal(error: unknown): unknown {
  if (!isTesseraError(error) || error.code === 'graph-lint' || isRefusal(error)) return error;
  const [reason] = error.message.split('\n');
  return new TesseraError('aot-unsupported', `A derivative cannot be made: ${reason}`, {
    cause: error,
    hints: error.hints,
  });
}
