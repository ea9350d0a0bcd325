/**
 * @file The devices that rows marked D run on, and tensors there.
 *
 * `wgpu` is whatever adapter the machine has, the software one included; without any, its rows fail
 * and say why.
 */
import { accessSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { env } from 'node:process';
import { initWebGpu } from '@tessera/compile';
import { type Tensor, download, isTensor } from '@tessera/tensor';
import { assertCloseAsync, type CloseOptions } from '../../src/index.js';

/** A device of the list. */
export type Device = 'cpu' | 'wgpu';

/** Devices for `test.each`: the row's name comes first, then the device. */
export const devices: readonly Device[] = ['cpu', 'wgpu'];

let opened: ReturnType<typeof initWebGpu> | null = null;

/** Makes a device usable. @throws device-unavailable */
export async function openDevice(device: Device): Promise<void> {
  if (device === 'wgpu') await openWebGpu();
}

/** WebGPU on whatever adapter there is. @throws device-unavailable */
export function openWebGpu(): ReturnType<typeof initWebGpu> {
  env.VK_ICD_FILENAMES ??= softwareDriver() ?? undefined;
  return (opened ??= initWebGpu());
}

/** A leaf on a device with the values of another tensor, which requires grad if that does. */
export function leafOn(device: Device, tensor: Tensor): Tensor {
  const moved = tensor.detach().clone().to(device);
  return tensor.requiresGrad ? moved.requiresGrad_() : moved;
}

/** Compares values on any device, which must be the same one. */
export function expectClose(
  actual: unknown,
  expected: unknown,
  options: CloseOptions = {},
): Promise<void> {
  return assertCloseAsync(actual, expected, options);
}

/** The value with its tensors downloaded. */
export async function onCpu<T>(value: T): Promise<T> {
  if (isTensor(value)) return (value.device === 'cpu' ? value : await download(value)) as T;
  if (Array.isArray(value)) return (await Promise.all(value.map(onCpu))) as T;
  return value;
}

/** A tensor's values as numbers. */
export async function numbersOf(tensor: Tensor): Promise<number[]> {
  return Array.from((await onCpu(tensor)).toTypedArray() as ArrayLike<number>, Number);
}

/** The driver description of the SwiftShader that comes with an installed chromium. */
function softwareDriver(): string | null {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
      const program = join(folder, name);
      if (!exists(program)) continue;
      const places = [dirname(realpathSync(program)), join(folder, '..', 'lib', basename(program))];
      const found = places.map((place) => join(place, 'vk_swiftshader_icd.json')).find(exists);
      if (found !== undefined) return found;
    }
  }
  return null;
}

function exists(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
