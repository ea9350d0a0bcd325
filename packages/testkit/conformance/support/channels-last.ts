/**
 * @file What of a compiled graph lies channels last.
 */
import { type GraphModule, tensorVals } from '@tessera/graph';
import { forceStrideOrder } from '@tessera/passes';
import { type Tensor } from '@tessera/tensor';
import { formatStrides } from '@tessera/tensor/internal';

/** Whether an image lies channels last. */
export function isChannelsLast(value: Tensor): boolean {
  return value.strides.join() === formatStrides(value, 'channelsLast').join();
}

/** The operators of a graph that compute images which lie channels last, and not row-major as well. */
export function channelsLastOperators(module: GraphModule): string[] {
  return module.graph.nodes.flatMap((node) => {
    if (node.op !== 'call_function' || node.target === forceStrideOrder) return [];
    const [image] = tensorVals(node);
    const lies = image?.ndim === 4 && !image.isContiguous() && isChannelsLast(image);
    return lies ? [String(node.target)] : [];
  });
}
