/**
 * @file Where a node of a functional graph runs.
 *
 * A node runs on the device of its results. Only a transfer, `aten::_to_copy` to another device, has operands
 * elsewhere; it is no kernel of either device but a step of the host between them (`isHostNode`).
 */
import type { DeviceType } from '@tessera/tensor';
import { type GraphModule, type Node, isTransfer, tensorVals } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { unreadable } from '@tessera/tensor/internal';

/** Devices of all tensors of a graph, in order of appearance. */
export function devicesOf({ graph }: GraphModule): Set<DeviceType> {
  return new Set(graph.nodes.flatMap((node) => tensorVals(node).map((val) => val.device)));
}

/**
 * Device on which an operator runs: that of its results, or of its operands if it returns no tensor.
 *
 * @throws device-mismatch if an operand is elsewhere, data-async-only for a transfer that would have to wait
 */
export function deviceOf(node: Node): DeviceType {
  const operands = node.allInputNodes().flatMap(tensorVals);
  const device = tensorVals(node)[0]?.device ?? operands[0]?.device ?? 'cpu';
  if (isTransfer(node)) {
    const from = operands[0]!.device;
    if (from !== 'cpu') throw unreadable(from, device);
    return device;
  }
  const elsewhere = [...operands, ...tensorVals(node)].find((val) => val.device !== device);
  if (elsewhere === undefined) return device;
  throw new TesseraError(
    'device-mismatch',
    `Node '${node.name}' runs on device '${device}' but has a tensor on '${elsewhere.device}'.`,
    {
      context: { node: node.name, devices: [device, elsewhere.device] },
      hints: [`Move it first: x.to('${device}').`],
      ...(node.meta.stackTrace === undefined ? {} : { location: node.meta.stackTrace }),
    },
  );
}
