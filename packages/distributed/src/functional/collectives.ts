/**
 * @file Functional collectives: they return new tensors, are differentiated, and become part of compiled graphs.
 *
 * Every rank calls the same ones in the same order. In eager code a call returns when the result is there; in a
 * compiled function the communication runs beside what does not need it. Modelled on
 * `torch.distributed._functional_collectives`.
 */
import { TesseraError } from '@tessera/shared';
import { type OpOverload, type Tensor, callOp, cat } from '@tessera/tensor';
import { isTraced, wrapDim } from '@tessera/tensor/internal';
import type { ReduceOp } from '../communicator.js';
import { type ProcessGroup, groupNamed } from '../process-group.js';
import { checkReduction } from '../eager/check-reduction.js';
import { needsAwaiting, requireBlocking } from '../needs-awaiting.js';
import { splitRows } from '../split-rows.js';
import { finishFilling } from './in-flight.js';
import {
  allGatherOp,
  allReduceOp,
  allToAllOp,
  broadcastOp,
  reduceScatterOp,
  waitOp,
} from './ops.js';

/** The values of a tensor that a collective is filling, once they are there. @throws what the collective threw */
export function waitTensor(tensor: Tensor): Tensor {
  if (isTraced([tensor])) return callOp(waitOp, [tensor]) as Tensor;
  finishFilling(tensor);
  return tensor;
}

function started(op: OpOverload, input: Tensor, group: ProcessGroup, ...args: unknown[]): Tensor {
  const { name } = op.schema;
  if (!isTraced([input])) requireBlocking(name, group, [input]);
  // What is recorded runs as synchronously.
  else if (input.device !== 'cpu') throw needsAwaiting(name, input.device);
  return callOp(op, [input, ...args, group.name]) as Tensor;
}

/**
 * The reduction of every rank's tensor, on every rank.
 *
 * @throws distributed-unavailable, distributed-mismatch, data-async-only, invalid-argument
 */
export function allReduce(
  input: Tensor,
  op: ReduceOp = 'sum',
  group: ProcessGroup = groupNamed(),
): Tensor {
  checkReduction('all_reduce', op, input.dtype);
  return waitTensor(started(allReduceOp, input, group, op));
}

/** The tensor of rank `src` of the group, on every rank. @throws distributed-unavailable, data-async-only */
export function broadcast(input: Tensor, src: number, group: ProcessGroup = groupNamed()): Tensor {
  return waitTensor(started(broadcastOp, input, group, src));
}

/** Every rank's tensor, joined along a dimension in the order of the ranks. @throws distributed-unavailable, data-async-only */
export function allGatherTensor(
  input: Tensor,
  gatherDim = 0,
  group: ProcessGroup = groupNamed(),
): Tensor {
  const dim = wrapDim(gatherDim, input.sizes.length);
  const whole = waitTensor(started(allGatherOp, input, group, group.size));
  return dim === 0 ? whole : cat(whole.chunk(group.size, 0), dim);
}

/**
 * Each rank's part of the reduction, cut along a dimension.
 *
 * @throws distributed-unavailable, data-async-only, shape-mismatch where the dimension does not divide
 */
export function reduceScatterTensor(
  input: Tensor,
  op: ReduceOp = 'sum',
  scatterDim = 0,
  group: ProcessGroup = groupNamed(),
): Tensor {
  checkReduction('reduce_scatter_tensor', op, input.dtype);
  const dim = wrapDim(scatterDim, input.sizes.length);
  const rows = dim === 0 ? input : cat(input.chunk(group.size, dim), 0);
  return waitTensor(started(reduceScatterOp, rows, group, op, group.size));
}

/**
 * Sends rows of the first dimension to every rank, and returns those that came. Without sizes, equal parts.
 *
 * @throws distributed-unavailable, data-async-only, invalid-argument
 */
export function allToAllSingle(
  input: Tensor,
  outputSplitSizes: readonly number[] | null = null,
  inputSplitSizes: readonly number[] | null = null,
  group: ProcessGroup = groupNamed(),
): Tensor {
  const rows = input.sizes[0] ?? 0;
  const name = 'all_to_all_single';
  const sent = splitRows(name, 'the input', rows, inputSplitSizes, group.size);
  if ((outputSplitSizes === null) !== (inputSplitSizes === null))
    throw new TesseraError(
      'invalid-argument',
      `${name}: outputSplitSizes and inputSplitSizes must be given together, or neither of them.`,
      { hints: ['What a rank receives from another is what that one sends to it.'] },
    );
  const received = splitRows(name, 'the output', null, outputSplitSizes ?? sent, group.size);
  return waitTensor(started(allToAllOp, input, group, received, sent));
}
