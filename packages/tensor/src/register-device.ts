/**
 * @file `registerDevice`: a device besides `cpu`, and with it what only programs of several devices need.
 */
import { type DeviceRuntime, type Transfers, addRuntime } from './device.js';
import { uploadTo } from './device-copy.js';
import { onOneDevice } from './dispatch/common-device.js';
import { readLater } from './read-later.js';

const TRANSFERS: Transfers = { place: onOneDevice, upload: uploadTo, readLater };

/** Registers (or replaces) the runtime of a device. */
export function registerDevice(runtime: DeviceRuntime): void {
  addRuntime(runtime, TRANSFERS);
}
