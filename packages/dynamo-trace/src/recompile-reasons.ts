/**
 * @file Why a call fits no recorded trace.
 */
import { TesseraError, isTesseraError } from '@tessera/shared';
import type { CaptureRecord } from './compiled-function.js';
import type { Root } from './guards/entry-guards.js';
import type { GlobalState } from './guards/global-state.js';

/** A guard in PyTorch's words, or, where the guards of a trace hold, the op at which the call differed. */
export function whyNoTraceFits(
  captures: readonly CaptureRecord[],
  roots: readonly Root[],
  entry: GlobalState,
  describe: () => string,
): string {
  const values = roots.map((root) => root.value);
  const reasons = captures.map((record) => record.guards.reason(values, entry, false));
  return reasons.includes(null) ? describe() : (reasons.at(-1) ?? describe());
}

/** A TypeError of a call whose arguments are built differently from all recorded ones names the difference. */
export function explainMisuse(
  error: unknown,
  functionName: string,
  captures: readonly CaptureRecord[],
  rootValues: () => readonly unknown[],
): unknown {
  const misuse =
    error instanceof TypeError || (isTesseraError(error) && error.code === 'schema-arguments');
  if (!misuse || captures.length === 0) return error;
  const values = rootValues();
  const differences = captures.map((record) => record.guards.structureReason(values));
  if (differences.includes(null)) return error;
  return new TesseraError(
    'structure-mismatch',
    `${functionName} was called with arguments of another structure than before and failed: ${error.message}. Expected ${differences.at(-1)!}.`,
    {
      cause: error,
      hints: [
        'Pass the same nesting of arrays, records and tensors, or handle the difference in the function.',
      ],
    },
  );
}
