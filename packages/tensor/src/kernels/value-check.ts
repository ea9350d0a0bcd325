/**
 * @file Checks of values that are only known while a kernel runs: indices, class labels, integer divisors,
 * probabilities.
 *
 * A check is data, so that compiled kernels carry it and report a failure in the words of the reference
 * kernels: both make their errors with `valueError`.
 */
import { TesseraError } from '@tessera/shared';

/** What a value must satisfy, with sizes of type `Count`: a compiler's may be symbolic. */
export type ValueCheck<Count = number> =
  /** An index into `size` elements; with `wraps`, negative ones count from the end. */
  | {
      readonly rule: 'index';
      readonly op: string;
      readonly size: Count;
      readonly wraps: boolean;
    }
  /** A class label among `classes`, or the label that is ignored. */
  | {
      readonly rule: 'class';
      readonly op: string;
      readonly classes: Count;
      readonly ignored: number;
    }
  /** A divisor of integers, which may not be zero. */
  | { readonly rule: 'divisor'; readonly op: string }
  /** A probability of an argument, which lies in [0, 1]. */
  | { readonly rule: 'probability'; readonly op: string; readonly argument: string };

/** The check of an index of an operator. */
export function indexCheck<Count>(op: string, size: Count, wraps = false): ValueCheck<Count> {
  return { rule: 'index', op, size, wraps };
}

/** The error for a value that does not pass: index-out-of-range, or invalid-argument where it is no place. */
export function valueError(check: ValueCheck, value: number): TesseraError {
  switch (check.rule) {
    case 'index': {
      const { op, size, wraps } = check;
      return new TesseraError(
        'index-out-of-range',
        `${op}: index ${value} is out of bounds for dimension with size ${size}`,
        {
          context: { op, index: value, size },
          hints: [
            size === 0
              ? 'The dimension is empty: no index is valid.'
              : `Indices must lie between ${wraps ? -size : 0} and ${size - 1}.`,
          ],
        },
      );
    }
    case 'class': {
      const { op, classes, ignored } = check;
      return new TesseraError(
        'index-out-of-range',
        `${op}: Target ${value} is out of bounds for ${classes} classes.`,
        {
          context: { op, index: value, size: classes },
          hints: [`Targets lie between 0 and ${classes - 1}; ignore_index is ${ignored}.`],
        },
      );
    }
    case 'divisor':
      return new TesseraError(
        'invalid-argument',
        `ZeroDivisionError: ${check.op}: integer division by zero`,
        {
          context: { op: check.op },
          hints: ['Divide floats, or mask the zeros first.'],
        },
      );
    case 'probability':
      return new TesseraError(
        'invalid-argument',
        `${check.op}: all elements of ${check.argument} should be between 0 and 1`,
        {
          context: { op: check.op, argument: check.argument },
          hints: ['Of logits: binaryCrossEntropyWithLogits.'],
        },
      );
  }
}
