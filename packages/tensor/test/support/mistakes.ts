/**
 * @file Tests of mistakes: each call throws an error with a code and words.
 */
import type { ErrorCode } from '@tessera/shared';
import { describe, expect, it } from 'vitest';

/** What is wrong, the call, and what its error says. */
export type Mistake = readonly [
  what: string,
  call: () => unknown,
  code: ErrorCode,
  message: string,
];

/** One test for each mistake. */
export function testMistakes(mistakes: readonly Mistake[]): void {
  describe('mistakes', () => {
    it.each(mistakes)('%s', (_what, call, code, message) => {
      try {
        call();
      } catch (error) {
        expect(error).toMatchObject({ code });
        expect((error as Error).message).toContain(message);
        return;
      }
      throw new Error('Nothing was thrown.');
    });
  });
}
