/**
 * @file Largest elements in order.
 */
import type { Tensor } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';

/** The k largest or smallest elements along an axis and where they stand; equal ones in the order of their places. */
function topK(call: NodeCall): Tensor[] {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', -1), x.ndim);
  const k = call.opset >= 10 ? call.number(1) : call.int('k');
  const [values, indices] = x.sort(dim, { descending: call.flag('largest', true) });
  return [values.narrow(dim, 0, k), indices.narrow(dim, 0, k)];
}

/** Operators of the standard domain. */
export const sortingLists: ListOperatorTable = { TopK: topK };
