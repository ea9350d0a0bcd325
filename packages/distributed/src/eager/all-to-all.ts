/**
 * @file `allToAll`, `allToAllSingle`: every rank sends something else to every other.
 */
import type { OptionNames } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { splitRows } from '../split-rows.js';
import { checkDType, checkList } from './check-tensors.js';
import {
  COLLECTIVE,
  type CollectiveOptions,
  type Started,
  groupOf,
  launch,
  started,
} from './launch.js';
import { checkTensor, stageBoth, stageList } from './staged-tensor.js';

/**
 * `outputs[r]` becomes the `inputs[rank]` of rank r. They may be of different sizes.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch; distributed-mismatch and distributed-timeout when
 * awaited
 * @see torch.distributed.all_to_all
 */
export function allToAll<const O extends CollectiveOptions>(
  outputs: readonly Tensor[],
  inputs: readonly Tensor[],
  options?: O,
): Started<O> {
  const group = groupOf<CollectiveOptions>('allToAll', options, COLLECTIVE);
  checkTensor('allToAll', inputs[0]);
  const { dtype } = inputs[0];
  checkList('allToAll', 'inputs', inputs, group, dtype);
  checkList('allToAll', 'outputs', outputs, group, dtype);
  const sends = inputs.map(({ numel }) => numel);
  const receives = outputs.map(({ numel }) => numel);
  const staged = [stageList('allToAll', inputs, 'read'), stageList('allToAll', outputs, 'write')];
  const work = launch(group, staged, ([from, to]) =>
    group.communicator.allToAll(from!, to!, sends, receives),
  );
  return started(work, options);
}

/** Options of `allToAllSingle`. Splits are sizes along the first dimension, one for each rank; equal ones if left out. */
export interface AllToAllSingleOptions extends CollectiveOptions {
  readonly outputSplitSizes?: readonly number[] | undefined;
  readonly inputSplitSizes?: readonly number[] | undefined;
}

const SPLITS: OptionNames<AllToAllSingleOptions> = {
  outputSplitSizes: true,
  inputSplitSizes: true,
  ...COLLECTIVE,
};

/** Elements for each rank. */
function countsOf(
  what: string,
  tensor: Tensor,
  splits: readonly number[] | undefined,
  size: number,
): number[] {
  const rows = tensor.sizes[0] ?? 1;
  const parts = splitRows('allToAllSingle', what, rows, splits, size);
  const perRow = rows === 0 ? 0 : tensor.numel / rows;
  return parts.map((part) => part * perRow);
}

/**
 * Splits `input` along its first dimension over the ranks, and joins what they send in `output`.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch; distributed-mismatch and distributed-timeout when
 * awaited
 * @see torch.distributed.all_to_all_single
 */
export function allToAllSingle<const O extends AllToAllSingleOptions>(
  output: Tensor,
  input: Tensor,
  options?: O,
): Started<O> {
  const name = 'allToAllSingle';
  const group = groupOf<AllToAllSingleOptions>(name, options, SPLITS);
  checkTensor(name, output);
  checkTensor(name, input);
  checkDType(name, output, input.dtype);
  const sends = countsOf('input', input, options?.inputSplitSizes, group.size);
  const receives = countsOf('output', output, options?.outputSplitSizes, group.size);
  const work = launch(group, stageBoth(name, input, output), ([from, to]) =>
    group.communicator.allToAll(from!, to!, sends, receives),
  );
  return started(work, options);
}
