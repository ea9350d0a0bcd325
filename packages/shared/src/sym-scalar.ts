/**
 * @file Scalars that a compiled function receives at run time.
 *
 * A learning rate or a step count that changes between calls must not be baked into a kernel. Where
 * such a number reaches an operator, capture puts a `SymScalar` in its place: it has a hint (the
 * value seen while capturing) but may not take part in JavaScript arithmetic, because the result
 * would be frozen into the graph. Modelled on `torch.SymFloat`.
 */
import { TesseraError } from './errors.js';

/** A plain scalar argument. */
export type Scalar = number | boolean;

/** What a scalar argument of an operator may be: plain, or only known at run time. */
export type ScalarLike = Scalar | SymScalar;

/** The type of a run-time scalar. */
export type ScalarKind = 'float' | 'int' | 'bool';

/**
 * The type that a number counts as. JavaScript does not tell 3 from 3.0: whole numbers are integers as far as all
 * of them are told apart (2⁵³ - 1), and floats beyond.
 */
export function scalarKind(value: Scalar): ScalarKind {
  if (typeof value === 'boolean') return 'bool';
  return Number.isSafeInteger(value) ? 'int' : 'float';
}

/** Whether an integer scalar holds all of a number: -0 is an integer, but its sign matters to floats. */
export function isPlainInteger(value: number): boolean {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

/** A scalar whose value is an input of the compiled artifact. */
export class SymScalar {
  /** What `isSymScalar` looks for. */
  readonly isSymScalar = true;
  /** The value seen while capturing; a bool is 0 or 1. */
  readonly hint: number;
  readonly kind: ScalarKind;
  /** Where the value comes from, for messages; may be empty. */
  readonly name: string;
  /** What operators ask of the value: true for those that they do not refuse. A value of a later call must pass as the hint did. */
  readonly checks: ((value: number) => boolean)[] = [];

  constructor(hint: number, kind: ScalarKind, name = '') {
    this.hint = hint;
    this.kind = kind;
    this.name = name;
  }

  /** Describes the scalar, for messages and printed graphs. */
  toString(): string {
    return `SymScalar(${this.name === '' ? '' : `${this.name}, `}${this.kind}, hint ${this.hint})`;
  }

  /** @throws lifted-scalar always. */
  valueOf(): never {
    throw new TesseraError(
      'lifted-scalar',
      `${this.toString()} took part in JavaScript arithmetic, but its value is only known at run time.`,
      {
        context: { hint: this.hint, kind: this.kind, name: this.name },
        hints: [
          'Compute the value before passing it to the compiled function, or make it a tensor and compute with tensor operations.',
        ],
      },
    );
  }

  /** @throws lifted-scalar unless a string is wanted. */
  [Symbol.toPrimitive](hint: 'string' | 'number' | 'default'): string {
    return hint === 'string' ? this.toString() : this.valueOf();
  }
}

/** Whether a value is one: by its mark, so that a program that makes none has nothing of the class. */
export function isSymScalar(value: unknown): value is SymScalar {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Partial<SymScalar>).isSymScalar === true
  );
}
