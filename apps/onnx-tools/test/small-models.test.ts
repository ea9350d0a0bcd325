/**
 * @file `pnpm onnx:model` on many small exports of PyTorch: at the recorded size and at another one, with gradients.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { unpack } from '../src/archive.js';
import { deviceNamed } from '../src/command-line.js';
import { runModel } from '../src/run-model.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { sampleName, sampled } from '../../../tooling/full-tests.js';

const folder = mkdtempSync(join(tmpdir(), 'onnx-small-'));
const packed = gunzipSync(readFileSync(new URL('../data/small-models.gz', import.meta.url)));
for (const [name, bytes] of unpack(packed)) writeFileSync(join(folder, name), bytes);
afterAll(() => rmSync(folder, { recursive: true }));

const inputs = join(folder, 'models.safetensors');
const names = [...unpack(packed).keys()].flatMap((file) => /^(.*)\.onnx$/.exec(file)?.[1] ?? []);

/** Models in which values decide what runs, with the graphs that calls are captured as: passes of a loop are three, the first, any other and the last. */
const GRAPHS: Readonly<Record<string, number>> = { branch: 2, embeddings: 7, found: 4 };
/** Those whose rows depend on the other rows, so that none of a larger batch are the recorded ones. */
const MIXED: readonly string[] = ['branch', 'found'];
/** Of the largest gradient: a file in half precision rounds to three digits. */
const GRADIENT: Readonly<Record<string, number>> = { float16: 5e-3 };

it.each(sampled(names, 2))(`%s (${sampleName})`, { timeout: 120_000 }, async (name) => {
  const file = join(folder, `${name}.onnx`);
  const result = await runModel(file, { inputs, device: 'cpu' });
  expect(result.graphs).toBe(GRAPHS[name] ?? 1);
  expect(result.maxError).toBeLessThan(1e-6);
  expect(result.gradientError).not.toBeNull();
  expect(result.gradientError).toBeLessThan(GRADIENT[name] ?? 1e-3);
  if (MIXED.includes(name)) return;
  const larger = await runModel(file, { inputs, device: 'cpu', batch: 3 });
  expect(larger.maxError).toBeLessThan(1e-6);
  expect(larger.gradientError).toBeLessThan(GRADIENT[name] ?? 1e-3);
});

describe.skipIf(!wantsGpu)('on WebGPU, whose values cannot be read in a call', () => {
  it.each(MIXED)(
    '%s runs operator by operator, with gradients',
    { timeout: 120_000 },
    async (name) => {
      const device = await deviceNamed('wgpu', '');
      const result = await runModel(join(folder, `${name}.onnx`), { inputs, device });
      expect(result.graphs).toBe(0);
      expect(result.maxError).toBeLessThan(1e-6);
      expect(result.gradientError).toBeLessThan(1e-3);
    },
  );
});
