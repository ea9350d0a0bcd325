/**
 * @file Nodes that the host runs between two plans: copies to another device, and operators that are no part of a plan.
 */
import { type Node, getItem, isTransfer } from '@tessera/graph';
import type { DeviceType, OpOverload } from '@tessera/tensor';
import type { KernelBackend } from '../backend/kernel-backend.js';
import { findLowering } from '../lower/find-lowering.js';
import { deviceOf } from './node-device.js';

/** Whether an operator runs between the plans of a device. */
export type BetweenPlans = (op: OpOverload, device: DeviceType) => boolean;

/** `BetweenPlans` of a backend: what it runs alone, and what only a kernel of the program's computes if its plans cannot call that. */
export function isBetweenPlans(backend: KernelBackend, op: OpOverload): boolean {
  if (backend.runsAlone?.(op) === true) return true;
  const { capabilities, device } = backend;
  return (
    !capabilities.extern &&
    op.deviceKernels.has(device) &&
    findLowering(op.qualifiedName) === undefined
  );
}

/** See the file header. An item of a list is where the list is. */
export function isHostNode(node: Node, betweenPlans: BetweenPlans): boolean {
  const { target } = node;
  if (target === getItem) return isHostNode(node.input(), betweenPlans);
  if (typeof target !== 'object') return false;
  return isTransfer(node) || betweenPlans(target, deviceOf(node));
}
