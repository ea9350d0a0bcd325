/**
 * @file `allReduce`, `reduce`, `broadcast`, `barrier`.
 */
import type { OptionNames } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { ReduceOp } from '../communicator.js';
import { checkReduction } from './check-reduction.js';
import {
  COLLECTIVE,
  type CollectiveOptions,
  type Started,
  groupOf,
  launch,
  rankIn,
  started,
} from './launch.js';
import { checkTensor, stage } from './staged-tensor.js';

/** Options of collectives that reduce. */
export interface ReduceOptions extends CollectiveOptions {
  /** Default `sum`. */
  readonly op?: ReduceOp | undefined;
}

/** Options by name; the operation first, as in PyTorch's order. */
export const REDUCE: OptionNames<ReduceOptions> = { op: true, ...COLLECTIVE };

/**
 * Reduces a tensor over all ranks, in place: afterwards every rank has the result.
 *
 * @throws distributed-unavailable, invalid-argument; distributed-mismatch and distributed-timeout when awaited
 * @example await allReduce(loss, { op: 'avg' });
 * @see torch.distributed.all_reduce
 */
export function allReduce<const O extends ReduceOptions>(tensor: Tensor, options?: O): Started<O> {
  const { op = 'sum' }: ReduceOptions = options ?? {};
  const group = groupOf<ReduceOptions>('allReduce', options, REDUCE);
  checkTensor('allReduce', tensor);
  checkReduction('allReduce', op, tensor.dtype);
  const work = launch(group, [stage('allReduce', tensor, 'update')], ([buffer]) =>
    group.communicator.allReduce(buffer!, op),
  );
  return started(work, options);
}

/**
 * Reduces a tensor over all ranks into that of rank `dst`; the others keep theirs.
 *
 * @throws distributed-unavailable, invalid-argument; distributed-mismatch and distributed-timeout when awaited
 * @see torch.distributed.reduce
 */
export function reduce<const O extends ReduceOptions>(
  tensor: Tensor,
  dst: number,
  options?: O,
): Started<O> {
  const { op = 'sum' }: ReduceOptions = options ?? {};
  const group = groupOf<ReduceOptions>('reduce', options, REDUCE);
  const root = rankIn('reduce', group, dst, 'dst');
  checkTensor('reduce', tensor);
  checkReduction('reduce', op, tensor.dtype);
  const access = root === group.rank ? 'update' : 'read';
  const work = launch(group, [stage('reduce', tensor, access)], ([buffer]) =>
    group.communicator.reduce(buffer!, op, root),
  );
  return started(work, options);
}

/**
 * Gives every rank the values of rank `src`.
 *
 * @throws distributed-unavailable, invalid-argument; distributed-mismatch and distributed-timeout when awaited
 * @see torch.distributed.broadcast
 */
export function broadcast<const O extends CollectiveOptions>(
  tensor: Tensor,
  src: number,
  options?: O,
): Started<O> {
  const group = groupOf<CollectiveOptions>('broadcast', options, COLLECTIVE);
  const root = rankIn('broadcast', group, src, 'src');
  const access = root === group.rank ? 'read' : 'write';
  const work = launch(group, [stage('broadcast', tensor, access)], ([buffer]) =>
    group.communicator.broadcast(buffer!, root),
  );
  return started(work, options);
}

/**
 * Waits until all ranks are here.
 *
 * @throws distributed-unavailable; distributed-mismatch and distributed-timeout when awaited
 * @see torch.distributed.barrier
 */
export function barrier<const O extends CollectiveOptions>(options?: O): Started<O> {
  const group = groupOf<CollectiveOptions>('barrier', options, COLLECTIVE);
  return started(
    launch(group, [], () => group.communicator.barrier()),
    options,
  );
}
