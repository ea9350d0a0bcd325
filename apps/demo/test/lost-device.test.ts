/**
 * A page whose device is lost in the middle of training goes on from a checkpoint on the next device.
 */
import { describe, expect, it } from 'vitest';
import type { LossResult } from './support/loss-page.js';
import { executablePath, openPage } from './support/open-page.js';

describe.skipIf(executablePath === null)('a device lost in a page', () => {
  it('is recovered from, without compiling again', { timeout: 300_000 }, async () => {
    const result = (await openPage('loss-page', '')) as LossResult;
    expect(result.error).toBe(undefined);
    expect(result.codes).toEqual(['device-lost', 'device-lost']);
    expect(result.whole[5]).toBeLessThan(result.whole[0]!);
    expect(result.interrupted).toEqual(result.whole);
    expect(result.compiled).toBe(0);
  });
});
