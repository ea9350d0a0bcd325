/**
 * @file The page of the memory test: `?device=wgpu&steps=500`; leaves what it saw in a global.
 */
import type { DeviceType } from '@tessera/tensor';
import { initWebGpu } from '@tessera/compile';
import { type TrainingMemory, trainInOneTask } from './memory-program.js';

/** What the page found. */
export type MemoryResult = TrainingMemory & { readonly error?: string };

async function main(): Promise<TrainingMemory> {
  const query = new URLSearchParams(location.search);
  const device = query.get('device') as DeviceType;
  if (device === 'wgpu') await initWebGpu();
  return trainInOneTask(device, Number(query.get('steps')));
}

main().then(
  (result) => Object.assign(globalThis, { tesseraResult: result }),
  (error: unknown) =>
    Object.assign(globalThis, {
      tesseraResult: {
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      },
    }),
);
