/**
 * @file The page of the browser test: lives the life with the server as its file system, and leaves what it saw in a
 * global.
 */
import { initWebGpu } from '@tessera/compile';
import type { DeviceType } from '@tessera/tensor';
import { type Life, life } from './life.js';

const at = (folder: string): URL => new URL(`/files/${folder}`, location.href);

async function run(device: DeviceType, first: string, second: string): Promise<Life> {
  if (device === 'wgpu') await initWebGpu();
  const write =
    (folder: string) => async (name: string, body: string | Uint8Array<ArrayBuffer>) => {
      await fetch(`${at(folder).href}/${name}`, { method: 'PUT', body });
    };
  return life({ device, at, write }, first, second);
}

Object.assign(globalThis, { tesseraLife: run });
