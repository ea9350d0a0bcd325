/**
 * @file What the editor asks the worker that knows types, and what that answers. Positions count characters of the program.
 */

/** A question; answers carry its `id`. */
export interface TypeQuestion {
  readonly id: number;
  readonly kind: keyof TypeAnswers;
  readonly source: string;
  readonly position: number;
}

/** What is wrong with a part of the program. */
export interface TypeProblem {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** What is known of a name: its declaration, and what its doc comment says. */
export interface TypeHover {
  readonly from: number;
  readonly to: number;
  readonly declaration: string;
  readonly documentation: string;
}

/** A name that may stand at a position. */
export interface TypeCompletion {
  readonly name: string;
  /** TypeScript's word for it: `method`, `const`, … */
  readonly kind: string;
}

/** Answers by the kind of question. */
export interface TypeAnswers {
  readonly problems: readonly TypeProblem[];
  readonly hover: TypeHover | null;
  readonly completions: readonly TypeCompletion[];
}

/** An answer, or why there is none. */
export interface TypeResponse {
  readonly id: number;
  readonly answer?: TypeAnswers[keyof TypeAnswers];
  readonly failure?: string;
}
