/**
 * @file `allGather`, `allGatherIntoTensor`, `gather`, `scatter`: parts of the ranks side by side, and apart.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkDType, checkList, checkNumel } from './check-tensors.js';
import {
  COLLECTIVE,
  type CollectiveOptions,
  type Started,
  groupOf,
  launch,
  rankIn,
  started,
} from './launch.js';
import { checkTensor, emptyStage, stage, stageBoth, stageList } from './staged-tensor.js';

/**
 * Gives every rank the tensors of all ranks: `outputs[r]` becomes that of rank r. All have one number of elements.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch, shape-mismatch; distributed-mismatch and
 * distributed-timeout when awaited
 * @see torch.distributed.all_gather
 */
export function allGather<const O extends CollectiveOptions>(
  outputs: readonly Tensor[],
  input: Tensor,
  options?: O,
): Started<O> {
  const group = groupOf<CollectiveOptions>('allGather', options, COLLECTIVE);
  checkTensor('allGather', input);
  checkList('allGather', 'outputs', outputs, group, input.dtype);
  for (const output of outputs) checkNumel('allGather', 'each output', output, input.numel);
  const staged = [stage('allGather', input, 'read'), stageList('allGather', outputs, 'write')];
  const work = launch(group, staged, ([from, to]) => group.communicator.allGather(from!, to!));
  return started(work, options);
}

/**
 * The same into one tensor, one rank's elements after the other's: `[N, …] → [size * N, …]`.
 *
 * @throws distributed-unavailable, dtype-mismatch, shape-mismatch; distributed-mismatch and distributed-timeout when
 * awaited
 * @see torch.distributed.all_gather_into_tensor
 */
export function allGatherIntoTensor<const O extends CollectiveOptions>(
  output: Tensor,
  input: Tensor,
  options?: O,
): Started<O> {
  const name = 'allGatherIntoTensor';
  const group = groupOf<CollectiveOptions>(name, options, COLLECTIVE);
  checkTensor(name, input);
  checkTensor(name, output);
  checkDType(name, output, input.dtype);
  checkNumel(name, 'output', output, group.size * input.numel);
  const work = launch(group, stageBoth(name, input, output), ([from, to]) =>
    group.communicator.allGather(from!, to!),
  );
  return started(work, options);
}

/** Only `root` gives, or takes, a list. */
function checkOneList(
  name: string,
  what: string,
  list: readonly Tensor[] | null,
  isRoot: boolean,
): void {
  if (isRoot === (list !== null)) return;
  throw new TesseraError(
    'invalid-argument',
    isRoot
      ? `${name}: this rank is the root and must pass ${what}.`
      : `${name}: ${what} must be null on ranks other than the root.`,
  );
}

/**
 * Gives rank `dst` the tensors of all ranks: there `outputs[r]` becomes that of rank r, elsewhere it is null.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch, shape-mismatch; distributed-mismatch and
 * distributed-timeout when awaited
 * @see torch.distributed.gather
 */
export function gather<const O extends CollectiveOptions>(
  input: Tensor,
  outputs: readonly Tensor[] | null,
  dst: number,
  options?: O,
): Started<O> {
  const group = groupOf<CollectiveOptions>('gather', options, COLLECTIVE);
  const root = rankIn('gather', group, dst, 'dst');
  checkTensor('gather', input);
  checkOneList('gather', 'outputs', outputs, root === group.rank);
  if (outputs !== null) {
    checkList('gather', 'outputs', outputs, group, input.dtype);
    for (const output of outputs) checkNumel('gather', 'each output', output, input.numel);
  }
  const to = outputs === null ? emptyStage(input.dtype) : stageList('gather', outputs, 'write');
  const sends = group.ranks.map((_, rank) => (rank === root ? input.numel : 0));
  const receives = group.ranks.map(() => (outputs === null ? 0 : input.numel));
  const work = launch(group, [stage('gather', input, 'read'), to], ([from, into]) =>
    group.communicator.allToAll(from!, into!, sends, receives),
  );
  return started(work, options);
}

/**
 * Gives rank r `inputs[r]` of rank `src`; elsewhere `inputs` is null.
 *
 * @throws distributed-unavailable, invalid-argument, dtype-mismatch, shape-mismatch; distributed-mismatch and
 * distributed-timeout when awaited
 * @see torch.distributed.scatter
 */
export function scatter<const O extends CollectiveOptions>(
  output: Tensor,
  inputs: readonly Tensor[] | null,
  src: number,
  options?: O,
): Started<O> {
  const group = groupOf<CollectiveOptions>('scatter', options, COLLECTIVE);
  const root = rankIn('scatter', group, src, 'src');
  checkTensor('scatter', output);
  checkOneList('scatter', 'inputs', inputs, root === group.rank);
  if (inputs !== null) {
    checkList('scatter', 'inputs', inputs, group, output.dtype);
    for (const input of inputs) checkNumel('scatter', 'each input', input, output.numel);
  }
  const from = inputs === null ? emptyStage(output.dtype) : stageList('scatter', inputs, 'read');
  const sends = group.ranks.map(() => (inputs === null ? 0 : output.numel));
  const receives = group.ranks.map((_, rank) => (rank === root ? output.numel : 0));
  const work = launch(group, [from, stage('scatter', output, 'write')], ([out, into]) =>
    group.communicator.allToAll(out!, into!, sends, receives),
  );
  return started(work, options);
}
