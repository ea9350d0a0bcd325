/**
 * @file The page of the memory test: `?device=wgpu&steps=500`, and `&awaits` to wait for each loss; leaves what it saw in a global.
 */
import type { DeviceType } from '@tessera/tensor';
import { initWebGpu } from '@tessera/compile';
import { type TrainingMemory, trainAwaiting, trainInOneTask } from './memory-program.js';

/** What the page found. */
export type MemoryResult = TrainingMemory & { readonly error?: string };

async function main(): Promise<TrainingMemory> {
  const query = new URLSearchParams(location.search);
  const device = query.get('device') as DeviceType;
  if (device === 'wgpu') await initWebGpu();
  const train = query.has('awaits') ? trainAwaiting : trainInOneTask;
  return train(device, Number(query.get('steps')));
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
