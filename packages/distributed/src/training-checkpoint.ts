/**
 * @file Checkpoints of a job: written by one rank, loaded by all, also by another number of ranks.
 *
 * One safetensors file (training-file.ts). It appears complete or not at all, so a job that is killed while it writes
 * leaves the one before. Only one rank reads; the others get it from there, so no file system need be shared. What does
 * not fit on one rank is loaded on none.
 */
import { TesseraError } from '@tessera/shared';
import type { Module, optim } from '@tessera/nn';
import {
  type DType,
  type Tensor,
  isDType,
  loadCheckpoint,
  noGrad,
  saveCheckpoint,
  zeros,
} from '@tessera/tensor';
import { gatherTexts } from './agreement.js';
import { DistributedDataParallel } from './ddp/distributed-data-parallel.js';
import { tensorBuffer } from './host-buffer.js';
import { type ProcessGroup, groupNamed } from './process-group.js';
import {
  METADATA_KEY,
  type TrainingContents,
  checkTraining,
  packTraining,
  unpackTraining,
} from './training-file.js';

type StateDict = optim.OptimizerStateDict;

/** What a checkpoint holds of an optimizer: any of `@tessera/nn`, or a `ZeroRedundancyOptimizer`. */
export interface CheckpointedOptimizer {
  stateDict(): StateDict;
  /** Changes nothing where the state does not fit. @throws state-dict-mismatch */
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

/** The model itself: names in the file do not depend on how it was trained. */
function unwrapped(model: Module): Module {
  return model instanceof DistributedDataParallel ? model.module : model;
}

/**
 * Writes a checkpoint on rank 0 of the group. Every rank calls it; all return when the file is complete.
 *
 * @throws distributed-mismatch on all ranks if writing failed
 */
export async function saveTraining(
  path: string,
  { model, optimizer, extra = null }: TrainingState,
  group: ProcessGroup = groupNamed(),
): Promise<void> {
  optimizer?.consolidateStateDict?.(0);
  const problem = await problemOf(async () => {
    if (group.rank !== 0) return;
    const { tensors, text } = packTraining({
      model: unwrapped(model).stateDict(),
      optimizer: optimizer?.stateDict() ?? null,
      extra,
    });
    await saveCheckpoint(path, tensors, { metadata: { [METADATA_KEY]: text } });
  });
  reportProblems(group, `The checkpoint ${path} could not be written`, problem);
}

/**
 * Loads a checkpoint into the model and optimizer of every rank; returns what was saved as `extra`. Rank 0 reads it.
 *
 * @throws distributed-mismatch on all ranks if it cannot be read; state-dict-mismatch where it does not fit, and
 *   distributed-mismatch on the other ranks: all models are then as before
 */
export async function loadTraining(
  path: string,
  { model, optimizer }: Pick<TrainingState, 'model' | 'optimizer'>,
  group: ProcessGroup = groupNamed(),
): Promise<unknown> {
  let read: Record<string, Tensor> = {};
  let text: string | undefined;
  const problem = await problemOf(async () => {
    if (group.rank !== 0) return;
    const onMetadata = (found: Readonly<Record<string, string>>): void => {
      text = found[METADATA_KEY];
    };
    read = await loadCheckpoint(path, { onMetadata });
    checkTraining(text, Object.keys(read));
  });
  try {
    reportProblems(group, `The checkpoint ${path} could not be read`, problem);
    const [told] = gatherTexts(group, text ?? '');
    read = await shareTensors(group, read);
    const contents = unpackTraining(told!, read);
    await loadOnAll(path, contents, unwrapped(model), optimizer, group);
    return contents.extra;
  } finally {
    for (const tensor of Object.values(read)) tensor.dispose();
  }
}

/** Loads the contents, or leaves everything as it is if they do not fit on some rank. */
async function loadOnAll(
  path: string,
  contents: TrainingContents,
  model: Module,
  optimizer: CheckpointedOptimizer | undefined,
  group: ProcessGroup,
): Promise<void> {
  const own = Object.values(model.stateDict());
  const before = noGrad(() => own.map((tensor) => tensor.clone()));
  // One whose state is spread over the ranks checks on each of them that all of it fits.
  const isWhole = optimizer !== undefined && optimizer.consolidateStateDict === undefined;
  const stateBefore = isWhole ? optimizer.stateDict() : null;
  const problem = await problemOf(() => {
    if (optimizer !== undefined && contents.optimizer === null) throw noOptimizer(path);
    model.loadStateDict(contents.model);
    optimizer?.loadStateDict(contents.optimizer!);
  });
  try {
    reportProblems(group, `The checkpoint ${path} could not be loaded`, problem);
  } catch (error) {
    noGrad(() => own.forEach((tensor, i) => tensor.copy_(before[i]!)));
    if (stateBefore !== null) optimizer!.loadStateDict(stateBefore);
    throw error;
  } finally {
    for (const tensor of before) tensor.dispose();
  }
}

function noOptimizer(path: string): TesseraError {
  return new TesseraError('state-dict-mismatch', `The checkpoint ${path} has no optimizer.`, {
    hints: ['Leave the optimizer out to load the model alone.'],
  });
}

/** What `fn` throws; null if it does not. */
async function problemOf(fn: () => void | Promise<void>): Promise<Error | null> {
  try {
    await fn();
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** Lets all ranks hear of a problem of one. @throws what the own rank met, else distributed-mismatch */
function reportProblems(group: ProcessGroup, what: string, own: Error | null): void {
  const texts = gatherTexts(group, own === null ? '' : own.message || own.name);
  const rank = texts.findIndex((text) => text !== '');
  if (rank < 0) return;
  if (own instanceof TesseraError && own.code === 'state-dict-mismatch') throw own;
  throw new TesseraError(
    'distributed-mismatch',
    `${what} on rank ${group.ranks[rank]}: ${texts[rank]}`,
    { context: { rank: group.ranks[rank] }, hints: ['No model was changed, on any rank.'] },
  );
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
  const described: Described[] = JSON.parse(gatherTexts(group, JSON.stringify(list))[0]!);
  const shared: Record<string, Tensor> = {};
  for (const { name, dtype, sizes } of described) {
    if (!isDType(dtype)) continue;
    const tensor = own[name] ?? zeros(sizes, { dtype });
    await group.communicator.broadcast(tensorBuffer(tensor), 0).done;
    shared[name] = tensor;
  }
  return shared;
}
