/**
 * Programs under `mpirun`: what they assert themselves holds on every rank.
 */
import { describe, expect, it } from 'vitest';
import { NOT_RUN, hasMpi, mpirun } from './support/mpirun.js';

describe.skipIf(!hasMpi)(`programs under mpirun${NOT_RUN}`, () => {
  for (const [program, ranks] of [1, 2, 4].flatMap((n) => [
    ['first-collectives', n] as const,
    ['all-collectives', n] as const,
  ])) {
    it(`${program}, ${ranks} ranks`, { timeout: 90_000 }, async () => {
      const { status, stdout, stderr } = await mpirun(ranks, program);
      expect(stderr).toBe('');
      expect(stdout.trim().split('\n').sort()).toEqual(
        Array.from({ length: ranks }, (_, rank) => `rank ${rank} of ${ranks} is done`),
      );
      expect(status).toBe(0);
    });
  }
});
