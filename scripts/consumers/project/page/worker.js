/** @file The page's worker: trains on the device it is told. */
import { initWebGpu } from '@tessera/compile';
import { train } from '../train.js';

globalThis.addEventListener('message', async ({ data: { digits, device } }) => {
  try {
    if (device === 'wgpu') await initWebGpu();
    globalThis.postMessage(await train(digits, { device }));
  } catch (error) {
    globalThis.postMessage({ error: String(error?.stack ?? error) });
  }
});
