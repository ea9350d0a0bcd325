/**
 * @file Training under `mpirun`: what the program asserts holds on every rank.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { NOT_RUN, hasMpi, mpirun } from './support/mpirun.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const folder = mkdtempSync(join(tmpdir(), 'tessera-training-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(!hasMpi)(`training under mpirun${NOT_RUN}`, () => {
  for (const ranks of [1, 2, 4]) {
    it(`is training on all samples at once, ${ranks} ranks`, { timeout: 120_000 }, async () => {
      const { status, stdout, stderr } = await mpirun(ranks, 'training', {
        args: [join(folder, `state-${ranks}.safetensors`)],
      });
      expect(stderr).toBe('');
      expect(stdout.trim().split('\n').sort()).toEqual(
        Array.from({ length: ranks }, (_, rank) => `rank ${rank} is done`),
      );
      expect(status).toBe(0);
    });
  }

  it.skipIf(!wantsGpu)(
    `reduces gradients on WebGPU, 2 ranks${wantsGpu ? '' : ' (NOT RUN: no adapter)'}`,
    { timeout: 120_000 },
    async () => {
      const { status, stdout, stderr } = await mpirun(2, 'training-wgpu');
      expect(stdout.trim().split('\n').sort(), stderr).toEqual([
        'rank 0 is done',
        'rank 1 is done',
      ]);
      expect(status).toBe(0);
    },
  );
});
