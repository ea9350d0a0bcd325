/**
 * @file A recorded call of every operator, compiled by itself for WebGPU as for a real card (`profile: 'gpu'`: what software
 * adapters are not given by themselves), gradients included; of a third of them unless the run is full.
 */
import { initWebGpu, registerKernelBackend, reset } from '@tessera/compile';
import { findOp } from '@tessera/tensor/internal';
import '@tessera/tensor/linalg';
import {
  KNOWN_DEVIATIONS,
  type OracleCase,
  appliesTo,
  qualifiedName,
  runOracleCase,
} from '@tessera/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { RECORDED, readOracleFile } from '../src/read-file.js';
import { isUnsupported } from '../src/run.js';

const wantsGpu =
  process.env['VK_ICD_FILENAMES'] !== undefined || process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

const file = readOracleFile(RECORDED);

/** The last recorded call of each operator: the first ones are the plainest, and other tests run those. */
const byOp = new Map<string, OracleCase>();
for (const entry of file.cases)
  if (appliesTo('compiled-wgpu', findOp(qualifiedName(entry)), entry)) byOp.set(entry.op, entry);

describe.skipIf(!wantsGpu)(
  `operators compiled for a card agree with PyTorch (${sampleName})`,
  () => {
    beforeAll(async () => {
      registerKernelBackend((await initWebGpu({ profile: 'gpu' })).backend);
    });

    it.each(sampled([...byOp], 3))('%s', async (name, entry) => {
      const op = findOp(qualifiedName(entry))!;
      try {
        const lines = await runOracleCase(file, op, entry, 'compiled-wgpu', KNOWN_DEVIATIONS[name]);
        expect(lines).toEqual([]);
      } catch (error) {
        // FEATURES.md lists what has no code there.
        if (!isUnsupported(error)) throw error;
      } finally {
        reset();
      }
    });
  },
);
