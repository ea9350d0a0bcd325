/**
 * @file Transfers: copies of a tensor to another device, the only operators with tensors on two devices.
 */
import type { Node } from './node.js';
import { tensorVal } from './value-meta.js';

/** Whether a node copies a tensor to another device. */
export function isTransfer(node: Node): boolean {
  const { target, args } = node;
  if (typeof target !== 'object' || target.qualifiedName !== 'aten::_to_copy') return false;
  const source = tensorVal(args[0]);
  return source !== null && source.device !== tensorVal(node)?.device;
}
