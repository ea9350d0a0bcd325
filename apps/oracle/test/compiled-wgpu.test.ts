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
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { RECORDED, readOracleFile } from '../src/read-file.js';
import { isUnsupported } from '../src/run.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const file = readOracleFile(RECORDED);

/** WebGPU has no float64. */
const isDouble = ({ args }: OracleCase): boolean => JSON.stringify(args).includes('"float64"');

/** What has no code there: sizes or positions that depend on values, float64. */
const NO_CODE: ReadonlySet<string> = new Set([
  'aten._unique.default',
  'aten._unique2.default',
  'aten.argwhere.default',
  'aten.float_power.Tensor_Tensor',
  'aten.logspace.Tensor_Tensor',
  'aten.masked_select.default',
  'aten.narrow.Tensor',
  'aten.nonzero.default',
  'aten.nonzero_numpy.default',
  'aten.one_hot.default',
  'aten.repeat_interleave.Tensor',
  'aten.repeat_interleave.self_Tensor',
  'aten.tensor_split.tensor_indices_or_sections',
  'aten.unique_consecutive.default',
  'aten.unique_dim.default',
]);

/** The last recorded call of each operator: the first ones are the plainest, and other tests run those. */
const byOp = new Map<string, OracleCase>();
for (const entry of file.cases)
  if (!isDouble(entry) && appliesTo('compiled-wgpu', findOp(qualifiedName(entry)), entry))
    byOp.set(entry.op, entry);

describe.skipIf(!wantsGpu)(
  `operators compiled for a card agree with PyTorch (${sampleName})`,
  () => {
    beforeAll(async () => {
      registerKernelBackend((await initWebGpu({ profile: 'gpu' })).backend);
    });

    afterEach(reset);

    it.each(sampled([...byOp], 3))('%s', async (name, entry) => {
      const op = findOp(qualifiedName(entry))!;
      const run = runOracleCase(file, op, entry, 'compiled-wgpu', KNOWN_DEVIATIONS[name]);
      const lines = await run.catch((error: unknown) => {
        if (!isUnsupported(error)) throw error;
        return null;
      });
      expect(lines).toEqual(NO_CODE.has(name) ? null : []);
    });
  },
);
