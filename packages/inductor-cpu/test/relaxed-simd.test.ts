/**
 * @file What the engine is asked about relaxed SIMD is the instruction that kernels use.
 */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { assembleModule } from '../src/emit/assemble-module.js';
import { op } from '../src/emit/code.js';
import { WasmFunction } from '../src/emit/wasm-function.js';
import { PROBE, hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';

/** A module with the instruction, as kernels are assembled. */
function assembled(): number[] {
  const f = new WasmFunction('probe', { a: 'v128', b: 'v128', c: 'v128' });
  f.do(op('f32x4.relaxed_madd', f.param<'v128'>('a'), f.param<'v128'>('b'), f.param<'v128'>('c')));
  const memory = { minPages: 0, maxPages: 1, shared: false };
  return [...assembleModule({ memory, functions: [f] })];
}

/** Which modules an engine takes that has relaxed SIMD, or was told not to. */
function taken(modules: readonly (readonly number[])[], flag: string): boolean[] {
  const program = `process.stdout.write(JSON.stringify(${JSON.stringify(modules)}
    .map((bytes) => WebAssembly.validate(new Uint8Array(bytes)))))`;
  const { stdout } = spawnSync(process.execPath, [flag, '-e', program], { encoding: 'utf8' });
  return JSON.parse(stdout) as boolean[];
}

// From Node 22 on it is no experiment: the flag is gone, and engines have it.
const canSwitch = Number(process.versions.node.split('.')[0]) < 22;

it('asks about the instruction that kernels use', () => {
  const modules = [PROBE, assembled()];
  expect(hasRelaxedSimd()).toBe(WebAssembly.validate(new Uint8Array(modules[1])));
  // The opcode stands in both: 0xfd and 261 in seven bits at a time.
  for (const bytes of modules) expect(bytes.join()).toContain([253, 133, 2].join());
  if (!canSwitch) return;
  expect(taken(modules, '--experimental-wasm-relaxed-simd')).toEqual([true, true]);
  expect(taken(modules, '--no-experimental-wasm-relaxed-simd')).toEqual([false, false]);
});
