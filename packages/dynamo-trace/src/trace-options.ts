/**
 * @file Options of a compiled function.
 */
import type { Backend } from './backend.js';

/** Any function: the compiler knows nothing of its arguments. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- functions of any signature are compiled
export type AnyFunction = (...args: any[]) => any;

/** Options of a compiled function. */
export interface TraceOptions {
  readonly backend: Backend;
  /** The function whose parameter names arguments have; default the function itself. */
  readonly signature?: AnyFunction;
  /** Graph breaks are errors. */
  readonly fullgraph?: boolean;
  /** Skip the JavaScript when arguments (and `captures`) are as before. */
  readonly pure?: boolean;
  /**
   * What a `pure` function reads besides its arguments; and what else keeps tensors that a function makes for its next call:
   * variables, `() => ({ velocity })`, and objects that hold such. Asked again when a recorded call ends.
   */
  readonly captures?: () => Record<string, unknown>;
  /** Called with the reason when a call fits no recorded trace. */
  readonly guardFailFn?: (reason: string) => void;
  /** Symbolic sizes: all dims of arguments, none, or (undefined) the dims that changed once. */
  readonly dynamic?: boolean;
}
