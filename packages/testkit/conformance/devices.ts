/**
 * @file The devices that rows marked D run on, and tensors on them.
 */
import { initWebGpu, registerKernelBackend } from '@tessera/compile';
import { type Tensor, toDevice } from '@tessera/tensor';

/** A row marked D is one test per device, named after it. */
export const DEVICES = ['cpu', 'wgpu'] as const;

/** A device of the list. */
export type Device = (typeof DEVICES)[number];

let ready = false;

/** Makes a device usable. Without a WebGPU adapter this throws, so the row fails by name. */
export async function initDevice(device: Device): Promise<void> {
  if (device === 'cpu' || ready) return;
  registerKernelBackend((await initWebGpu()).backend);
  ready = true;
}

/** A leaf on a device with the values of another tensor, which requires grad if that does. */
export function leafOn(device: Device, tensor: Tensor): Tensor {
  const moved = toDevice(tensor.detach().clone(), device);
  return tensor.requiresGrad ? moved.requiresGrad_() : moved;
}
