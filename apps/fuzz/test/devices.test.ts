/**
 * @file Programs whose tensors are on both devices: what is drawn runs eagerly, and a fault of either device is found.
 */
import { initWebGpu, registerBackend, reset } from '@tessera/compile';
import type { Tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { checkProgram } from '../src/check.js';
import { generateProgram } from '../src/generate.js';
import { runPrinted } from './run-printed.js';

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';
const gpu = wanted ? await initWebGpu() : null;
const BOTH = ['cpu', 'wgpu'] as const;

describe.runIf(gpu !== null)('programs on both devices', () => {
  it(
    'have tensors on each, moves, and no 64-bit floats on WebGPU',
    { timeout: 120_000 },
    async () => {
      let text = '';
      for (let seed = 0; seed < 8; seed++) {
        const program = await generateProgram(seed, { devices: true }, BOTH);
        expect(program.async).toBe(true);
        expect(await checkProgram(program, [])).toBeNull();
        text += JSON.stringify(program);
      }
      expect(text).toContain('"device":"wgpu"');
      expect(text).toContain('"args":["wgpu"]');
      expect(text).not.toMatch(/"dtype":"float64"[^}]*"device":"wgpu"/);
    },
  );

  it.each(BOTH)('a wrong result on %s is found', { timeout: 240_000 }, async (device) => {
    registerBackend('off_there', (module) => (inputs) => {
      const outputs = module.forward(...inputs) as Tensor[];
      return outputs.map((t) =>
        t.device === device && t.dtype === 'float32' && !t.requiresGrad ? t.add(1) : t,
      );
    });
    let found = null;
    for (let seed = 0; seed < 20 && found === null; seed++) {
      const program = await generateProgram(seed, { devices: true }, BOTH);
      found = await checkProgram(program, ['off_there']);
      reset();
    }
    expect(found?.text).toMatch(/values differ/);
    expect(JSON.stringify(found?.program)).toContain('"device":"wgpu"');
  });

  it('are printed as files that run', { timeout: 60_000 }, async () => {
    const program = await generateProgram(2, { devices: true }, BOTH);
    expect(await runPrinted({ program, backend: 'eager', text: '' })).not.toBe('');
  });
});
