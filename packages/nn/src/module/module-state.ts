/**
 * @file Which tensors belong to modules: parameters and registered buffers.
 *
 * Freezing takes these as constants, and nothing else.
 */
import type { Tensor } from '@tessera/tensor';
import { Parameter } from '../parameter.js';

const buffers = new WeakSet<Tensor>();

/** Notes that a tensor was registered as a buffer. */
export function noteBuffer(tensor: Tensor): void {
  buffers.add(tensor);
}

/** Whether a tensor is a parameter, or was registered as a buffer of a module. */
export function isModuleState(tensor: Tensor): boolean {
  return tensor instanceof Parameter || buffers.has(tensor);
}
