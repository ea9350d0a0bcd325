/**
 * @file Whole models against PyTorch's outputs, gradients and training losses, eager and compiled.
 */
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  type ModelMode,
  packModels,
  recordedModels,
  runRecordedModel,
  unpackModels,
} from '../src/index.js';

const packed = brotliDecompressSync(readFileSync(new URL('../data/models.br', import.meta.url)));
const file = unpackModels(packed);

describe.each<ModelMode>(['eager', 'inductor'])('%s', (mode) => {
  it.each(recordedModels.map((model) => [model.name, model] as const))(
    "%s: outputs, gradients and losses are PyTorch's",
    (_, model) => {
      const checks = runRecordedModel(model, file, mode);
      expect(checks.length).toBeGreaterThanOrEqual(8);
      expect(checks.filter((check) => !check.passed)).toEqual([]);
    },
    120_000,
  );
});

describe('the recordings', () => {
  it('are those of the 14 models, and pack to the same bytes again', () => {
    expect(recordedModels.map(({ name }) => name).sort()).toEqual(Object.keys(file.models).sort());
    expect(Buffer.compare(packModels(file), packed)).toBe(0);
  });
});
