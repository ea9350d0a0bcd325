/**
 * @file Biases of attention scores by the positions of query and key.
 */
import { type Tensor, index, matmul } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { splitHeads } from './attention.js';
import { indices, range } from './like.js';

/** The position of each token relative to each other, in buckets, as T5 has them: [L, S]. */
function relativeBuckets(
  call: NodeCall,
  [length, keys]: readonly [number, number],
  most: number,
  buckets: number,
): Tensor {
  const isBoth = call.flag('is_bidirectional');
  const half = isBoth ? Math.floor(buckets / 2) : buckets;
  const exact = Math.floor(half / 2);
  const bucket = (distance: number): number => {
    if (distance < exact) return distance;
    const log = Math.log(distance / exact) / Math.log(most / exact);
    return Math.min(exact + Math.trunc(log * (half - exact)), half - 1);
  };
  return indices(
    call,
    range(length).flatMap((i) =>
      range(keys).map((j) =>
        isBoth ? (j > i ? half : 0) + bucket(Math.abs(i - j)) : bucket(Math.max(0, i - j)),
      ),
    ),
  ).reshape([length, keys]);
}

/** Rows of a table of buckets [buckets, heads] by relative position. */
function relativeBias(call: NodeCall): Tensor {
  const table = call.tensor(0);
  const at = relativeBuckets(
    call,
    [call.number(1), call.number(2)],
    call.int('max_distance'),
    table.shape[0]!,
  );
  return index(table, at).permute([2, 0, 1]).unsqueeze(0);
}

/** A bias [1, heads, L, L] scaled by gates that are computed from the query, as WavLM has them. */
function gatedBias(call: NodeCall): Tensor {
  if (call.has(6)) call.unsupported('token_offset (a query without padding)');
  const query = splitHeads(call.tensor(0).add(call.tensor(1)), call.int('num_heads'));
  const gates = matmul(query, call.tensor(3)).add(call.tensor(4));
  const [batch, heads, length, width] = gates.shape;
  const sums = gates
    .reshape([batch, heads, length, 2, width / 2])
    .sum([-1])
    .sigmoid();
  const [update, reset] = [sums.narrow(3, 0, 1), sums.narrow(3, 1, 1)];
  const gate = update.mul(reset.mul(call.tensor(5)).sub(1)).add(2);
  return gate.mul(call.tensor(2));
}

/** Operators with one output. */
export const contribPositionBias: OperatorTable = {
  RelativePositionBias: relativeBias,
  GatedRelativePositionBias: gatedBias,
};
