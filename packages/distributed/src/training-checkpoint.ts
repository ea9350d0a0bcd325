/**
 * @file Checkpoints of a job: written by one rank, loaded by all, also by another number of ranks.
 *
 * One safetensors file: the model's state under `model.`, the optimizer's under `optimizer.`, numbers and options as
 * JSON in the metadata. The file appears complete or not at all, so a job that is killed while it writes leaves the
 * one before. Only one rank reads; the others get it from there, so no file system need be shared.
 */
import { TesseraError } from '@tessera/shared';
import type { Module, optim } from '@tessera/nn';
import {
  type DType,
  type Tensor,
  isDType,
  loadCheckpoint,
  saveCheckpoint,
  zeros,
} from '@tessera/tensor';
import { gatherTexts } from './agreement.js';
import { DistributedDataParallel } from './ddp/distributed-data-parallel.js';
import { tensorBuffer } from './host-buffer.js';
import { type ProcessGroup, groupNamed } from './process-group.js';

type StateDict = optim.OptimizerStateDict;

/** What a checkpoint holds of an optimizer: any of `@tessera/nn`, or a `ZeroRedundancyOptimizer`. */
export interface CheckpointedOptimizer {
  stateDict(): StateDict;
  loadStateDict(dict: StateDict): void;
  /** Collects what the ranks have on one of them. */
  consolidateStateDict?(to: number): void;
}

/** What a checkpoint holds. */
export interface TrainingState {
  readonly model: Module;
  readonly optimizer?: CheckpointedOptimizer;
  /** Anything else that JSON can hold: the number of steps, a scheduler's state. */
  readonly extra?: unknown;
}

interface Metadata {
  readonly optimizer: {
    readonly paramGroups: StateDict['paramGroups'];
    readonly numbers: Record<string, Record<string, number>>;
  } | null;
  readonly extra: unknown;
}

const KEY = 'tessera.training';

/** The model itself: names in the file do not depend on how it was trained. */
function unwrapped(model: Module): Module {
  return model instanceof DistributedDataParallel ? (model.module as Module) : model;
}

/**
 * Writes a checkpoint on rank 0 of the group. Every rank calls it; all return when the file is complete.
 *
 * @throws device-unavailable where there is no file system, distributed-mismatch on all ranks if writing failed
 */
export async function saveTraining(
  path: string,
  { model, optimizer, extra = null }: TrainingState,
  group: ProcessGroup = groupNamed(),
): Promise<void> {
  optimizer?.consolidateStateDict?.(0);
  let problem = '';
  if (group.rank === 0) {
    const tensors: Record<string, Tensor> = {};
    for (const [name, tensor] of Object.entries(unwrapped(model).stateDict()))
      tensors[`model.${name}`] = tensor;
    const metadata: Metadata = {
      optimizer: optimizer === undefined ? null : exported(optimizer.stateDict(), tensors),
      extra,
    };
    try {
      await saveCheckpoint(path, tensors, { metadata: { [KEY]: JSON.stringify(metadata) } });
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  reportProblem(group, 'written', path, problem);
}

function exported(
  { state, paramGroups }: StateDict,
  tensors: Record<string, Tensor>,
): NonNullable<Metadata['optimizer']> {
  const numbers: Record<string, Record<string, number>> = {};
  for (const [id, values] of Object.entries(state))
    for (const [name, value] of Object.entries(values))
      if (typeof value === 'number') (numbers[id] ??= {})[name] = value;
      else tensors[`optimizer.${id}.${name}`] = value;
  return { paramGroups, numbers };
}

/** Lets all ranks hear of a problem of the first. @throws distributed-mismatch */
function reportProblem(group: ProcessGroup, what: string, path: string, problem: string): void {
  const [told] = gatherTexts(group, problem);
  if (told === '') return;
  throw new TesseraError(
    'distributed-mismatch',
    `The checkpoint ${path} could not be ${what} on rank ${group.ranks[0]}: ${told}`,
    { hints: ['Nothing was changed on any rank.'] },
  );
}

/**
 * Loads a checkpoint into the model and optimizer of every rank; returns what was saved as `extra`. Rank 0 reads it.
 *
 * @throws distributed-mismatch on all ranks if it cannot be read, state-dict-mismatch
 */
export async function loadTraining(
  path: string,
  { model, optimizer }: Pick<TrainingState, 'model' | 'optimizer'>,
  group: ProcessGroup = groupNamed(),
): Promise<unknown> {
  let read: Record<string, Tensor> = {};
  let text = '';
  let problem = '';
  if (group.rank === 0) {
    try {
      read = await loadCheckpoint(path, { onMetadata: (found) => (text = found[KEY] ?? '') });
      if (text === '') problem = 'saveTraining() did not write it.';
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  reportProblem(group, 'read', path, problem);
  const metadata = JSON.parse(gatherTexts(group, text)[0]!) as Metadata;
  const tensors = await shareTensors(group, read);
  const states: Record<string, Tensor> = {};
  const state: Record<number, Record<string, Tensor | number>> = {};
  for (const [id, values] of Object.entries(metadata.optimizer?.numbers ?? {}))
    state[Number(id)] = { ...values };
  for (const [name, tensor] of Object.entries(tensors)) {
    const [kind, ...rest] = name.split('.');
    if (kind === 'model') states[rest.join('.')] = tensor;
    else (state[Number(rest[0])] ??= {})[rest.slice(1).join('.')] = tensor;
  }
  unwrapped(model).loadStateDict(states);
  if (optimizer !== undefined && metadata.optimizer !== null)
    optimizer.loadStateDict({ state, paramGroups: metadata.optimizer.paramGroups });
  for (const tensor of Object.values(tensors)) tensor.dispose();
  return metadata.extra;
}

interface Described {
  readonly name: string;
  readonly dtype: DType;
  readonly sizes: readonly number[];
}

/** The tensors of rank 0 on every rank. */
async function shareTensors(
  group: ProcessGroup,
  own: Readonly<Record<string, Tensor>>,
): Promise<Record<string, Tensor>> {
  const list = Object.entries(own).map(([name, { dtype, sizes }]) => ({ name, dtype, sizes }));
  const described = JSON.parse(gatherTexts(group, JSON.stringify(list))[0]!) as Described[];
  const shared: Record<string, Tensor> = {};
  for (const { name, dtype, sizes } of described) {
    if (!isDType(dtype)) continue;
    const tensor = own[name] ?? zeros(sizes, { dtype });
    await group.communicator.broadcast(tensorBuffer(tensor), 0).done;
    shared[name] = tensor;
  }
  return shared;
}
