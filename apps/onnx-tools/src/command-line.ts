/**
 * @file What the programs of this app share on their command lines.
 */
import { initWebGpu, registerKernelBackend } from '@tessera/compile';
import { TesseraError } from '@tessera/shared';
import type { DeviceType } from '@tessera/tensor';

/** @throws invalid-argument always, with the first line of the usage text */
export function refuse(message: string, usage: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [usage.split('\n')[0]!] });
}

/** The device of a name, ready to be used. @throws invalid-argument, device-unavailable */
export async function deviceNamed(name: string, usage: string): Promise<DeviceType> {
  if (name !== 'cpu' && name !== 'wgpu')
    refuse(`--device must be cpu or wgpu, not '${name}'.`, usage);
  if (name === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  return name;
}
