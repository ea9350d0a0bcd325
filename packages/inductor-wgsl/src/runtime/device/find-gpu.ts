/**
 * @file Finds WebGPU: `navigator.gpu` in browsers, the optional `webgpu` package (Dawn) in Node.
 */
import { TesseraError, environmentVariable } from '@tessera/shared';

/** The part of the `webgpu` package that is used. */
interface DawnModule {
  create(flags: string[]): GPU;
}

/**
 * The entry point of WebGPU.
 *
 * @param dawnFlags flags for Dawn (`enable-dawn-features=…`); only used in Node
 * @throws device-unavailable
 */
export async function findGpu(dawnFlags: readonly string[]): Promise<GPU> {
  const { gpu }: { readonly gpu?: GPU } = globalThis.navigator ?? {};
  if (gpu !== undefined) return gpu;
  let dawn: DawnModule;
  try {
    // A name that is computed keeps bundlers from resolving a package that browsers do not need (some put constants in
    // their places), the comments from warning of it.
    const packageName = ['web', 'gpu'].join('');
    dawn = await import(
      /* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ packageName
    );
  } catch (cause) {
    throw new TesseraError(
      'device-unavailable',
      'WebGPU is not available: there is no navigator.gpu, and the package `webgpu` could not be loaded.',
      {
        context: { device: 'wgpu' },
        hints: [
          'In Node: npm install webgpu.',
          'In a browser: use one with WebGPU, and serve the page over https or from localhost.',
        ],
        cause,
      },
    );
  }
  preloadVulkan();
  return dawn.create([...dawnFlags]);
}

/** The part of Node's `process` that is used. */
interface NodeProcess {
  readonly platform: string;
  dlopen(module: object, path: string, flags: number): void;
}

/** dlopen flags of Linux: RTLD_NOW, RTLD_GLOBAL, RTLD_NODELETE. */
const KEEP_LOADED = 0x2 | 0x100 | 0x1000;

/**
 * Makes Chromium's SwiftShader usable where no Vulkan loader is installed: Dawn asks the system for
 * `libvulkan.so.1`, and Chromium ships one next to the driver that VK_ICD_FILENAMES names.
 */
function preloadVulkan(): void {
  const { process }: { readonly process?: NodeProcess } = globalThis;
  if (process?.platform !== 'linux') return;
  const driver = environmentVariable('VK_ICD_FILENAMES') ?? environmentVariable('VK_DRIVER_FILES');
  if (driver === undefined || driver === '' || isLoadable(process, 'libvulkan.so.1')) return;
  isLoadable(process, driver.split(':')[0].replace(/[^/]*$/, 'libvulkan.so.1'));
}

/** Loads a shared library for good. `process.dlopen` always throws for one that is no Node addon. */
function isLoadable(process: NodeProcess, library: string): boolean {
  try {
    process.dlopen({ exports: {} }, library, KEEP_LOADED);
    return true;
  } catch (error) {
    return !String(error).includes('cannot open shared object');
  }
}
