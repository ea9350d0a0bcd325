/**
 * @file A mistake that a user makes, and what the error must say.
 */
import type { ErrorCode } from '@tessera/shared';

/** What was done; the call; its code; what the message names; what a hint says. */
export type Mistake = readonly [
  name: string,
  call: () => unknown,
  code: ErrorCode,
  names: string,
  hint: string,
];
