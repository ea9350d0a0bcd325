/**
 * @file The page of the memory test: `?device=wgpu&steps=500`; leaves what it saw in a global.
 */
import { initWebGpu } from '@tessera/compile';
import { trainInOneTask } from './memory-program.js';

async function main(): Promise<unknown> {
  const query = new URLSearchParams(location.search);
  const device = query.get('device')!;
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
