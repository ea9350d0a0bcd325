/**
 * @file Transfers: copies of a tensor to another device, the only operators with tensors on two devices.
 */
import { Node } from './node.js';
import { tensorVal } from './value-meta.js';

/** Whether a node copies a tensor to another device. */
export function isTransfer(node: Node): boolean {
  const { target, args } = node;
  if (typeof target !== 'object' || target.qualifiedName !== 'aten::_to_copy') return false;
  const source = args[0] instanceof Node ? tensorVal(args[0]) : null;
  return source !== null && source.device !== tensorVal(node)?.device;
}
