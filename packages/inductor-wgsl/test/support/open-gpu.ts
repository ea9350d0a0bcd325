/**
 * @file WebGPU for tests: the machine's adapter, else SwiftShader from an installed Chromium.
 *
 * Without any adapter the tests that need one are skipped, and the reason is printed, unless
 * TESSERA_REQUIRE_WEBGPU=1: then they fail. TESSERA_TEST_GPU=1 prefers a real GPU to SwiftShader, and
 * TESSERA_TEST_DAWN_FLAGS gives flags for Dawn (to test float16 where it is behind one), and
 * TESSERA_TEST_DEFAULT_LIMITS=1 gives a device with WebGPU's default limits and without optional features.
 */
import { accessSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { env } from 'node:process';
import { findChromium } from '../../../../tooling/find-chromium.mjs';
import { findGpu } from '../../src/runtime/device/find-gpu.js';
import {
  initWebGpu,
  useSubgroupMatrices,
  type WebGpu,
  type WebGpuOptions,
} from '../../src/index.js';

// As `@tessera/compile` does in Node.
useSubgroupMatrices();

function exists(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The driver description of the SwiftShader that belongs to a chromium. */
function findSwiftShader(): string | null {
  const chromium = findChromium();
  if (chromium === null) return null;
  const real = realpathSync(chromium);
  // Distributions put a start script in bin and the program in lib.
  const folders = [dirname(real), join(dirname(chromium), '..', 'lib', basename(chromium))];
  return folders.map((folder) => join(folder, 'vk_swiftshader_icd.json')).find(exists) ?? null;
}

/** Dawn's instance has to outlive its devices. */
const instances: GPU[] = [];

/** An adapter that offers what every WebGPU has: no higher limits, no optional feature. */
async function defaultLimits(): Promise<GPUAdapter> {
  const gpu = await findGpu([]);
  instances.push(gpu);
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new Error('no adapter');
  const device = await adapter.requestDevice();
  return {
    info: adapter.info,
    limits: device.limits,
    features: new Set(),
    requestDevice: () => Promise.resolve(device),
  } as unknown as GPUAdapter;
}

/** Opens WebGPU, or says why it cannot be. Code is made as for a GPU, also on SwiftShader. */
export async function openGpu(options: WebGpuOptions = {}): Promise<WebGpu | null> {
  if (env.VK_ICD_FILENAMES === undefined) {
    const driver = findSwiftShader();
    if (driver !== null && env.TESSERA_TEST_GPU !== '1') env.VK_ICD_FILENAMES = driver;
  }
  const flags = env.TESSERA_TEST_DAWN_FLAGS;
  try {
    if (env.TESSERA_TEST_DEFAULT_LIMITS === '1')
      return await initWebGpu({ profile: 'gpu', adapter: await defaultLimits(), ...options });
    return await initWebGpu({
      profile: 'gpu',
      ...(flags !== undefined && { dawnFlags: flags.split(' ') }),
      ...options,
    });
  } catch (error) {
    if (env.TESSERA_REQUIRE_WEBGPU === '1') throw error;
    console.warn(`WebGPU tests did not run: ${(error as Error).message}`);
    return null;
  }
}
