/**
 * @file Counts how often JavaScript enters compiled code: calls of WebAssembly exports on `cpu`, submissions
 * on `wgpu`.
 */
import { type Device, openWebGpu } from './devices.js';

/** A count that goes on until it is disposed. */
export interface NativeCalls extends Disposable {
  readonly count: number;
  /** Resolves when what was asked for so far is on its way to the device. */
  settle(): Promise<void>;
}

/** Counts from now on; WebAssembly modules count if they are instantiated from now on. */
export async function countNativeCalls(device: Device): Promise<NativeCalls> {
  return device === 'cpu' ? countExports() : countSubmissions();
}

function countExports(): NativeCalls {
  const holder = WebAssembly as unknown as { Instance: unknown };
  const Instance = WebAssembly.Instance;
  let count = 0;
  holder.Instance = function (module: WebAssembly.Module, imports: WebAssembly.Imports): unknown {
    const { exports } = new Instance(module, imports);
    const counted = Object.entries(exports).map(([name, value]) => [
      name,
      typeof value === 'function'
        ? (...args: unknown[]): unknown => {
            count++;
            return (value as (...all: unknown[]) => unknown)(...args);
          }
        : value,
    ]);
    return { exports: Object.fromEntries(counted) };
  };
  return {
    get count() {
      return count;
    },
    settle: () => Promise.resolve(),
    [Symbol.dispose]: () => void (holder.Instance = Instance),
  };
}

async function countSubmissions(): Promise<NativeCalls> {
  const gpu = await openWebGpu();
  const queue = gpu.device.queue;
  const submit = queue.submit.bind(queue);
  let count = 0;
  queue.submit = (buffers) => {
    count++;
    submit(buffers);
  };
  return {
    get count() {
      return count;
    },
    settle: () => gpu.synchronize(),
    [Symbol.dispose]: () => void (queue.submit = submit),
  };
}
