/**
 * A Node program that uses the device ends by itself, with work pending or not.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { openGpu } from './support/open-gpu.js';

const gpu = await openGpu();

const PROGRAM = `
import { initWebGpu } from './src/index.js';
import { deviceTensor, readTensor, singlePlan } from './test/support/plans.js';
import { siluAdd } from './test/support/sample-kernels.js';

const gpu = await initWebGpu();
const n = 1024;
const values = Array.from({ length: n }, (_, i) => i / n);
const tensors = ['x', 'y', 'out'].map(() => deviceTensor(gpu, 'float32', values));
const executable = gpu.backend.load(singlePlan(siluAdd(n), () => n));
executable.run(tensors, [], []);
if (process.argv[2] === 'read') console.log((await readTensor(gpu, tensors[2]))[512].toFixed(4));
for (let i = 0; i < 100; i++) executable.run(tensors, [], []);
console.log('end of program');
`;

describe.skipIf(gpu === null)('a Node program', () => {
  it('exits by itself after using the device', async () => {
    const root = fileURLToPath(new URL('..', import.meta.url));
    const outfile = `${root}/.test-results/program.mjs`;
    await build({
      stdin: { contents: PROGRAM, resolveDir: root, loader: 'ts' },
      bundle: true,
      outfile,
      format: 'esm',
      platform: 'node',
      conditions: ['@tessera/source'],
      logLevel: 'silent',
    });
    for (const mode of ['read', 'leave work pending']) {
      const { stdout } = await promisify(execFile)('node', [outfile, mode], { timeout: 20_000 });
      expect(stdout).toBe(mode === 'read' ? '0.8112\nend of program\n' : 'end of program\n');
    }
  });
});
