/**
 * @file What a run is at one moment: model, optimizer, schedule, random numbers. One safetensors file.
 *
 * Tensors are under `model.` and `optimizer.`; everything else is JSON in the file's metadata.
 */
import type { lrScheduler, optim } from '@tessera/nn';
import {
  type GeneratorState,
  type Tensor,
  getRngState,
  loadCheckpoint,
  saveCheckpoint,
  setRngState,
} from '@tessera/tensor';
import type { GPT } from './model.js';

/** Everything that changes while training. */
export interface Training {
  model: GPT;
  optimizer: optim.Optimizer;
  scheduler: lrScheduler.LRScheduler;
}

interface Rest {
  step: number;
  optimizer: optim.OptimizerStateDict;
  scheduler: lrScheduler.LRSchedulerState;
  rng: GeneratorState;
}

/** Writes a run that has made `step` steps. */
export async function save(path: string, training: Training, step: number): Promise<void> {
  const { model, optimizer, scheduler } = training;
  const tensors: Record<string, Tensor> = {};
  for (const [name, value] of Object.entries(model.stateDict())) tensors[`model.${name}`] = value;
  const { state, paramGroups } = optimizer.stateDict();
  const numbers: Record<string, Record<string, number>> = {};
  for (const [id, values] of Object.entries(state))
    for (const [name, value] of Object.entries(values))
      if (typeof value === 'number') (numbers[id] ??= {})[name] = value;
      else tensors[`optimizer.${id}.${name}`] = value;
  const rest = {
    step,
    optimizer: { state: numbers, paramGroups },
    scheduler: scheduler.stateDict(),
    rng: getRngState(),
  } satisfies Rest;
  await saveCheckpoint(path, tensors, { metadata: { training: JSON.stringify(rest) } });
}

/** Continues from a file; returns the number of steps made before it was written. */
export async function resume(path: string, training: Training): Promise<number> {
  let rest: Rest | undefined;
  const tensors = await loadCheckpoint(path, {
    onMetadata: (metadata) => (rest = JSON.parse(metadata.training ?? 'null') as Rest),
  });
  if (!rest) throw new Error(`${path} was not written by this script.`);
  const model: Record<string, Tensor> = {};
  const state: Record<number, Record<string, Tensor | number>> = { ...rest.optimizer.state };
  for (const [name, value] of Object.entries(tensors)) {
    const [kind, ...path] = name.split('.');
    if (kind === 'model') model[path.join('.')] = value;
    else (state[Number(path[0])] ??= {})[path[1]!] = value;
  }
  training.model.loadStateDict(model);
  training.optimizer.loadStateDict({ state, paramGroups: rest.optimizer.paramGroups });
  training.scheduler.loadStateDict(rest.scheduler);
  setRngState(rest.rng);
  return rest.step;
}
