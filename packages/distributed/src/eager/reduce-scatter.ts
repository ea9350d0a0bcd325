/**
 * @file `reduceScatter`, `reduceScatterTensor`: each rank gets the reduction of its part.
 */
import type { Tensor } from '@tessera/tensor';
import { checkReduction } from './check-reduction.js';
import { checkDType, checkList, checkNumel } from './check-tensors.js';
import { type Started, groupOf, launch, started } from './launch.js';
import { REDUCE, type ReduceOptions } from './reduce.js';
import { checkTensor, stage, stageBoth, stageList } from './staged-tensor.js';

/**
 * `output` becomes the reduction over all ranks of their `inputs[rank]`.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch, shape-mismatch; distributed-mismatch and
 * distributed-timeout when awaited
 * @see torch.distributed.reduce_scatter
 */
export function reduceScatter<const O extends ReduceOptions>(
  output: Tensor,
  inputs: readonly Tensor[],
  options?: O,
): Started<O> {
  const name = 'reduceScatter';
  const { op = 'sum' }: ReduceOptions = options ?? {};
  const group = groupOf<ReduceOptions>(name, options, REDUCE);
  checkTensor(name, output);
  checkReduction(name, op, output.dtype);
  checkList(name, 'inputs', inputs, group, output.dtype);
  for (const input of inputs) checkNumel(name, 'each input', input, output.numel);
  const staged = [stageList(name, inputs, 'read'), stage(name, output, 'write')];
  const work = launch(group, staged, ([from, to]) =>
    group.communicator.reduceScatter(from!, to!, op),
  );
  return started(work, options);
}

/**
 * The same from one tensor, which holds the parts one after the other: `[size * N, …] → [N, …]`.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch, shape-mismatch; distributed-mismatch and
 * distributed-timeout when awaited
 * @see torch.distributed.reduce_scatter_tensor
 */
export function reduceScatterTensor<const O extends ReduceOptions>(
  output: Tensor,
  input: Tensor,
  options?: O,
): Started<O> {
  const name = 'reduceScatterTensor';
  const { op = 'sum' }: ReduceOptions = options ?? {};
  const group = groupOf<ReduceOptions>(name, options, REDUCE);
  checkTensor(name, output);
  checkTensor(name, input);
  checkReduction(name, op, output.dtype);
  checkDType(name, input, output.dtype);
  checkNumel(name, 'input', input, group.size * output.numel);
  const work = launch(group, stageBoth(name, input, output), ([from, to]) =>
    group.communicator.reduceScatter(from!, to!, op),
  );
  return started(work, options);
}
