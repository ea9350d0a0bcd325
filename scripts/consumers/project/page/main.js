/** @file A page that trains, and has a worker train; what they saw is left in a global. */
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

async function main() {
  const digits = new Uint8Array(await (await fetch('/digits.safetensors')).arrayBuffer());
  return {
    page: await train(digits),
    worker: await trainInWorker(digits, 'cpu'),
    'worker, WebGPU': await trainInWorker(digits, 'wgpu'),
  };
}

main().then(
  (losses) => (globalThis.consumerResult = { losses }),
  (error) => (globalThis.consumerResult = { error: String(error?.stack ?? error) }),
);
