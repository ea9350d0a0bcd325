/** @file A page that trains, also on WebGPU, for which it asks later, and has a worker train; what they saw is left in a global. */
import { train } from '../train.js';

function trainInWorker(digits, device) {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.addEventListener('message', ({ data }) =>
      data.error ? reject(new Error(data.error)) : resolve(data),
    );
    worker.addEventListener('error', ({ message }) =>
      reject(new Error(`The worker failed: ${message}`)),
    );
    worker.postMessage({ digits, device });
  });
}

const scripts = () =>
  performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).length;

/** The losses on WebGPU, and how many scripts came when it was asked for. */
async function trainOnWebGpu(digits) {
  const before = scripts();
  const { initWebGpu } = await import('@tessera/compile/webgpu');
  const later = scripts() - before;
  await initWebGpu();
  return { losses: await train(digits, { device: 'wgpu' }), later };
}

async function main() {
  const digits = new Uint8Array(await (await fetch('/digits.safetensors')).arrayBuffer());
  const page = await train(digits);
  const { losses, later } = await trainOnWebGpu(digits);
  const all = {
    page,
    'page, WebGPU': losses,
    worker: await trainInWorker(digits, 'cpu'),
    'worker, WebGPU': await trainInWorker(digits, 'wgpu'),
  };
  return { losses: all, seen: { later } };
}

main().then(
  (result) => (globalThis.consumerResult = result),
  (error) => (globalThis.consumerResult = { error: String(error?.stack ?? error) }),
);
