/**
 * @file Functional collectives: they return new tensors, are differentiated, and become part of compiled graphs.
 *
 * Every rank calls the same ones in the same order. In eager code a call returns when the result is there; in a
 * compiled function the communication runs beside what does not need it. Modelled on
 * `torch.distributed._functional_collectives`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
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

/** Options of every functional collective. */
export interface CollectiveOptions {
  /** The ranks that take part (default all). */
  readonly group?: ProcessGroup;
}
const COLLECTIVE: OptionNames<CollectiveOptions> = { group: true };

/** Options of `allReduce`. */
export interface ReduceOptions extends CollectiveOptions {
  /** How values are combined (default `sum`). */
  readonly op?: ReduceOp;
}
const REDUCE: OptionNames<ReduceOptions> = { op: true, group: true };

/** Options of `allGatherTensor`. */
export interface GatherOptions extends CollectiveOptions {
  /** The dimension along which tensors are joined (default 0). */
  readonly gatherDim?: number;
}
const GATHER: OptionNames<GatherOptions> = { gatherDim: true, group: true };

/** Options of `reduceScatterTensor`. */
export interface ScatterOptions extends ReduceOptions {
  /** The dimension along which the reduction is cut (default 0). */
  readonly scatterDim?: number;
}
const SCATTER: OptionNames<ScatterOptions> = { op: true, scatterDim: true, group: true };

/** Options of `allToAllSingle`. */
export interface SplitOptions extends CollectiveOptions {
  /** Rows that come from each rank (default equal parts). */
  readonly outputSplitSizes?: readonly number[] | null;
  /** Rows that go to each rank (default equal parts). */
  readonly inputSplitSizes?: readonly number[] | null;
}
const SPLIT: OptionNames<SplitOptions> = {
  outputSplitSizes: true,
  inputSplitSizes: true,
  group: true,
};

/** The values of a tensor that a collective is filling, once they are there. @throws what the collective threw */
export function waitTensor(tensor: Tensor): Tensor {
  if (isTraced([tensor])) return callOp(waitOp, [tensor]);
  finishFilling(tensor);
  return tensor;
}

function started(
  op: OpOverload<Tensor>,
  input: Tensor,
  group: ProcessGroup,
  ...args: unknown[]
): Tensor {
  const { name } = op.schema;
  if (!isTraced([input])) requireBlocking(name, group, [input]);
  // What is recorded runs as synchronously.
  else if (input.device !== 'cpu') throw needsAwaiting(name, input.device);
  return callOp(op, [input, ...args, group.name]);
}

/**
 * The reduction of every rank's tensor, on every rank.
 *
 * @throws distributed-unavailable, distributed-mismatch, data-async-only, invalid-argument
 */
export function allReduce(input: Tensor, options?: ReduceOptions): Tensor {
  checkOptionNames('allReduce', options, REDUCE);
  const { op = 'sum', group = groupNamed() } = options ?? {};
  checkReduction('all_reduce', op, input.dtype);
  return waitTensor(started(allReduceOp, input, group, op));
}

/** The tensor of rank `src` of the group, on every rank. @throws distributed-unavailable, data-async-only */
export function broadcast(input: Tensor, src: number, options?: CollectiveOptions): Tensor {
  checkOptionNames('broadcast', options, COLLECTIVE);
  return waitTensor(started(broadcastOp, input, options?.group ?? groupNamed(), src));
}

/** Every rank's tensor, joined along a dimension in the order of the ranks. @throws distributed-unavailable, data-async-only */
export function allGatherTensor(input: Tensor, options?: GatherOptions): Tensor {
  checkOptionNames('allGatherTensor', options, GATHER);
  const { gatherDim = 0, group = groupNamed() } = options ?? {};
  const dim = wrapDim(gatherDim, input.sizes.length);
  const whole = waitTensor(started(allGatherOp, input, group, group.size));
  return dim === 0 ? whole : cat(whole.chunk(group.size, 0), dim);
}

/**
 * Each rank's part of the reduction, cut along a dimension.
 *
 * @throws distributed-unavailable, data-async-only, shape-mismatch where the dimension does not divide
 */
export function reduceScatterTensor(input: Tensor, options?: ScatterOptions): Tensor {
  checkOptionNames('reduceScatterTensor', options, SCATTER);
  const { op = 'sum', scatterDim = 0, group = groupNamed() } = options ?? {};
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
export function allToAllSingle(input: Tensor, options?: SplitOptions): Tensor {
  checkOptionNames('allToAllSingle', options, SPLIT);
  const { outputSplitSizes = null, inputSplitSizes = null, group = groupNamed() } = options ?? {};
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
