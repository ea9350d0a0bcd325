/**
 * @file `registerDevice`: a device besides `cpu`, and with it what only programs of several devices need.
 */
import { type DeviceRuntime, addRuntime } from './device.js';
import { onOneDevice } from './dispatch/common-device.js';

/** Registers (or replaces) the runtime of a device. */
export function registerDevice(runtime: DeviceRuntime): void {
  addRuntime(runtime, onOneDevice);
}
