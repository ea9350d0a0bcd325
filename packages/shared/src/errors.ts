/**
 * @file `TesseraError`: the one error class of the project.
 *
 * Every failure a user can cause names what was wrong (operator, shapes, names), carries a stable
 * code, says what to do, and points to a page in `docs/errors/`. Modelled on JAX's error classes.
 */
import type { ErrorCode } from './error-codes.js';
import { keepFrames } from './keep-frames.js';
import { REPOSITORY } from './repository.js';

/** Optional parts of a {@link TesseraError}. */
export interface TesseraErrorOptions {
  /** Machine-readable facts: the shapes, names and values that the message speaks about. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** What the reader can do, one sentence each. */
  readonly hints?: readonly string[];
  /** Where in the user's source the failing call is, as `file:line:column`. */
  readonly location?: string;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/** Frames of a stack: those of the library come first, up to some thirty, and what called it is to be among them. */
const FRAMES = 64;

/** Error with a stable {@link ErrorCode}, the facts behind it and hints that say what to do. */
export class TesseraError extends Error {
  readonly code: ErrorCode;
  readonly context: Readonly<Record<string, unknown>>;
  readonly hints: readonly string[];
  // Declared only: an error without a location has no such property and prints none.
  declare readonly location?: string;

  constructor(code: ErrorCode, message: string, options: TesseraErrorOptions = {}) {
    const { context = {}, hints = [], location, cause } = options;
    // Whoever wants none gets none.
    const kept = Error.stackTraceLimit || 0;
    const undo = keepFrames(kept && Math.max(kept, FRAMES));
    super(
      formatMessage(code, message, hints, location),
      cause === undefined ? undefined : { cause },
    );
    undo();
    this.name = 'TesseraError';
    this.code = code;
    this.context = context;
    this.hints = hints;
    if (location !== undefined) this.location = location;
  }
}

/**
 * True for a `TesseraError`, optionally of one code.
 *
 * Compares the name instead of the class, so it also recognises errors from a worker or from a
 * second copy of this package.
 */
export function isTesseraError(value: unknown, code?: ErrorCode): value is TesseraError {
  return (
    value instanceof Error &&
    value.name === 'TesseraError' &&
    (code === undefined || ('code' in value && value.code === code))
  );
}

/** Address of the page about an error. */
export function errorPage(code: ErrorCode): string {
  return `${REPOSITORY}/blob/main/docs/errors/${code}.md`;
}

function formatMessage(
  code: ErrorCode,
  message: string,
  hints: readonly string[],
  location: string | undefined,
): string {
  const lines = [message];
  if (location !== undefined) lines.push(`  at ${location}`);
  for (const hint of hints) lines.push(`→ ${hint}`);
  lines.push(`See ${errorPage(code)}`);
  return lines.join('\n');
}

/** What was thrown, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
