/**
 * @file What is done at the end of a call, which for async functions and generators comes later.
 */

/** What to do at the end of a call. */
export interface Ending {
  /** The function returned; gives what the caller gets. */
  finish(result: unknown): unknown;
  /** The function threw; gives what the caller catches. */
  fail(error: unknown): unknown;
}
