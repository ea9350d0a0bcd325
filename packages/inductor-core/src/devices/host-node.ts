/**
 * @file Nodes that the host runs between two plans: copies to another device, and operators that only a kernel of the
 * program's computes, on a device whose plans hold nothing but compiled code.
 */
import { type Node, getItem, isTransfer } from '@tessera/graph';
import type { DeviceType } from '@tessera/tensor';
import { findLowering } from '../lower/find-lowering.js';
import { deviceOf } from './node-device.js';

/** Whether plans of a device call kernels themselves: `capabilities.extern` of its backend. */
export type CallsKernels = (device: DeviceType) => boolean;

/** See the file header. An item of a list is where the list is. */
export function isHostNode(node: Node, callsKernels: CallsKernels): boolean {
  const { target } = node;
  if (target === getItem) return isHostNode(node.input(), callsKernels);
  return isTransfer(node) || isKernelCall(node, callsKernels);
}

function isKernelCall(node: Node, callsKernels: CallsKernels): boolean {
  const { target } = node;
  if (typeof target !== 'object' || target.deviceKernels.size === 0) return false;
  const device = deviceOf(node);
  return (
    target.deviceKernels.has(device) &&
    !callsKernels(device) &&
    findLowering(target.qualifiedName) === undefined
  );
}
