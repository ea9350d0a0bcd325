/**
 * @file What can be seen of a training run: of modules the parameters, gradients, buffers and modes, of optimizers,
 * schedules and scalers their states, of tensors all, and the state of the random numbers.
 */
import { Module, optim } from '@tessera/nn';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, getRngState, isTensor } from '@tessera/tensor';
import { nameOf } from '../error-names.js';
import { leafOf } from '../leaf-of.js';
import { type Seen, Watcher } from '../observe.js';

type Stateful = { stateDict(): unknown };

function isStateful(value: object): value is Stateful {
  return 'stateDict' in value && typeof value.stateDict === 'function';
}

/** Whether memory was given back; a pending value is computed. */
function isDisposed(t: Tensor): boolean {
  try {
    t.storage.assertReadable('');
    return false;
  } catch (error) {
    if (isTesseraError(error) && error.code === 'use-after-dispose') return true;
    throw error;
  }
}

class TrainingWatcher extends Watcher {
  /** Notes a value and all that is in it. */
  all(path: string, value: unknown): void {
    if (isTensor(value)) this.leaf(path, value as Tensor);
    else if (typeof value === 'number' && !Number.isInteger(value)) this.number(path, value);
    else if (value instanceof Module) this.module(path, value);
    else if (value instanceof optim.Optimizer) this.optimizer(path, value);
    else if (typeof value === 'function') return;
    else if (typeof value !== 'object' || value === null) this.value(path, value);
    else if (isStateful(value)) this.all(path, value.stateDict());
    else {
      const entries = Object.entries(value);
      this.value(`${path} has`, entries.map(([key]) => key).join());
      for (const [key, item] of entries) this.all(`${path}.${key}`, item);
    }
  }

  private leaf(path: string, t: Tensor): void {
    if (isDisposed(t)) this.value(path, 'disposed');
    else if (leafOf(t) !== true) this.tensor(path, t);
    else if (t.grad === null || !isDisposed(t.grad)) this.withGrad(path, t);
    else {
      this.tensor(path, t);
      this.value(`${path}.grad`, 'disposed');
    }
  }

  private module(path: string, module: Module): void {
    for (const [name, t] of module.namedParameters()) this.leaf(`${path}.${name}`, t);
    for (const [name, t] of module.namedBuffers()) this.leaf(`${path}.${name}`, t);
    for (const [name, part] of module.namedModules()) {
      this.value(`${path}.${name} trains`, part.training);
      if ('count' in part) this.value(`${path}.${name}.count`, part.count);
    }
  }

  private optimizer(path: string, optimizer: optim.Optimizer): void {
    this.all(path, optimizer.stateDict());
    optimizer.paramGroups.forEach(({ params }, i) =>
      params.forEach((p, k) => this.leaf(`${path} group ${i} parameter ${k}`, p)),
    );
  }
}

/** A named thing to look at. */
export interface Watched {
  readonly name: string;
  readonly value: () => unknown;
}

/** Everything visible after a call that showed `outputs` or threw. */
export function observeTraining(
  watched: readonly Watched[],
  outputs: readonly unknown[],
  thrown: string | null,
): Promise<Seen[]> {
  const watcher = new TrainingWatcher();
  watcher.value('thrown', thrown);
  for (const { name, value } of watched) {
    try {
      watcher.all(name, value());
    } catch (error) {
      watcher.value(name, nameOf(error));
    }
  }
  outputs.forEach((output, i) => watcher.all(`output ${i}`, output));
  const { seed, offset } = getRngState();
  watcher.value('random numbers', `${seed} ${offset}`);
  return watcher.read();
}
