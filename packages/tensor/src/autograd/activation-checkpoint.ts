/**
 * @file Activation checkpointing: a region saves nothing for backward and runs again when backward needs it.
 *
 * Modelled on `torch.utils.checkpoint` without reentrance: the saved tensors of the region are replaced by their
 * numbers, and the first one that backward reads runs the region again, up to the last one saved. So closures,
 * `grad()`, hooks and double backward work as without a checkpoint. Inside a compiled function the partitioner
 * decides what is recomputed, and a region is ordinary code.
 */
import { TesseraError, checkFunction, treeMap } from '@tessera/shared';
import {
  type AutocastSettings,
  autocastState,
  withAutocastSettings,
} from '../autocast/autocast-state.js';
import { activeMode } from '../dispatch/modes.js';
import type { TensorMeta } from '../op/op-record.js';
import { type GeneratorState, rngState, restoreRng } from '../rng/generator.js';
import { clone } from '../ops/arrange/copy.js';
import { formatSizes, sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { enableGrad, gradMode, noGrad } from './grad-mode.js';
import { withPackedSaves } from './saved-tensor-hooks.js';

/** How a region is run again. */
export interface CheckpointOptions {
  /** Whether the second run draws the same random numbers as the first. Default true. */
  readonly preserveRngState?: boolean;
}

/** Thrown to end the second run once nothing more of it is needed. */
const ENOUGH: Error = new Error('The checkpointed region has run far enough.');

class Region<R> {
  private readonly metas: Pick<TensorMeta, 'sizes' | 'dtype'>[] = [];
  private readonly recomputed = new Map<number, { tensor: Tensor; version: number }>();
  private readonly rng: GeneratorState | null;
  private readonly autocast: AutocastSettings | null;

  constructor(
    private readonly run: () => R,
    preserveRngState: boolean,
  ) {
    this.rng = preserveRngState ? rngState() : null;
    // The casts of the first run are gone: the second makes its own.
    this.autocast = autocastState.active?.afresh() ?? null;
  }

  forward(): R {
    const pack = ({ sizes, dtype }: Tensor): number => this.metas.push({ sizes, dtype }) - 1;
    return withPackedSaves({ pack, unpack: (index: number) => this.take(index) }, this.run);
  }

  private take(index: number): Tensor {
    if (!this.recomputed.has(index)) this.recompute();
    const { tensor, version } = this.recomputed.get(index)!;
    this.recomputed.delete(index);
    if (tensor.storage.version !== version)
      mismatch(
        `saved tensor ${index} was modified in place after it was saved, within the region`,
        'Use the out-of-place operator in a checkpointed region.',
      );
    return tensor;
  }

  private recompute(): void {
    const current = rngState();
    let count = 0;
    const pack = (tensor: Tensor): Tensor => {
      this.compare(count, tensor);
      const copy = noGrad(() => tensor.detach());
      this.recomputed.set(count++, { tensor: copy, version: copy.storage.version });
      if (count === this.metas.length) throw ENOUGH;
      return tensor;
    };
    if (this.rng !== null) restoreRng(this.rng);
    try {
      enableGrad(() =>
        withAutocastSettings(this.autocast, () =>
          withPackedSaves({ pack, unpack: (tensor: Tensor) => tensor }, this.run),
        ),
      );
    } catch (error) {
      if (error !== ENOUGH) throw error;
    } finally {
      restoreRng(current);
    }
    if (count < this.metas.length)
      mismatch(
        `A different number of tensors was saved during the original forward (${this.metas.length}) and recomputation (${count}).`,
      );
  }

  private compare(index: number, { sizes, dtype }: Tensor): void {
    const saved = this.metas[index]!;
    if (saved.dtype === dtype && sameNumbers(saved.sizes, sizes)) return;
    mismatch(
      `Recomputed values have different metadata than during the forward pass: tensor ${index} was ${saved.dtype} ${formatSizes(saved.sizes)}, and is now ${dtype} ${formatSizes(sizes)}.`,
    );
  }
}

function mismatch(
  what: string,
  hint = 'A checkpointed region must do the same both times: keep counters, dates and data that changes out of it.',
): never {
  throw new TesseraError('checkpoint-mismatch', `checkpoint: ${what}`, { hints: [hint] });
}

/**
 * What a traced region gives, in memory of its own: whoever writes to it changes nothing that the region's backward reads,
 * which in eager code makes that anew. Compilers take the copy out again.
 */
function inOwnMemory(inputs: readonly unknown[]): (leaf: unknown) => unknown {
  return (leaf) => {
    const isOwn = isTensor(leaf) && leaf.requiresGrad && leaf.base === null;
    return isOwn && !inputs.includes(leaf) ? clone(leaf) : leaf;
  };
}

/** `checkpoint` with options. */
export function checkpointWith<A extends unknown[], R>(
  options: CheckpointOptions,
  fn: (...inputs: A) => R,
  ...inputs: A
): R {
  checkFunction('checkpoint', fn);
  // Nothing is saved without recording.
  if (!gradMode.enabled) return fn(...inputs);
  // A tracer's program is differentiated as a whole.
  if (activeMode(inputs) !== null) return treeMap(inOwnMemory(inputs), fn(...inputs)) as R;
  return new Region(() => fn(...inputs), options.preserveRngState ?? true).forward();
}

/**
 * Runs `fn(...inputs)` without keeping what its backward needs; backward runs it again. Random numbers and the
 * autocast scope are the same both times. Side effects (running statistics) happen twice.
 *
 * @throws checkpoint-mismatch in backward, if the second run differs from the first
 * @see torch.utils.checkpoint
 * @example const y = checkpoint((x) => block.forward(x), x);
 */
export function checkpoint<A extends unknown[], R>(fn: (...inputs: A) => R, ...inputs: A): R {
  return checkpointWith({}, fn, ...inputs);
}

/** A step of a sequence: a function, or a module. */
export type CheckpointStep = ((input: Tensor) => Tensor) | { forward(input: Tensor): Tensor };

/**
 * Runs steps one after the other in `segments` checkpointed parts; the last part is not checkpointed, since its
 * backward comes first.
 *
 * @throws invalid-argument
 * @see torch.utils.checkpoint.checkpoint_sequential
 */
export function checkpointSequential(
  steps: Iterable<CheckpointStep>,
  segments: number,
  input: Tensor,
  options: CheckpointOptions = {},
): Tensor {
  if (!Array.isArray(steps) && typeof steps?.[Symbol.iterator] !== 'function')
    throw new TesseraError('invalid-argument', 'checkpointSequential takes a list of steps.', {
      hints: ['Write checkpointSequential([...model], 2, x).'],
    });
  const list = [...steps];
  if (!Number.isInteger(segments) || segments < 1 || segments > list.length) {
    throw new TesseraError(
      'invalid-argument',
      `checkpointSequential: segments must be between 1 and the number of steps (${list.length}), got ${segments}`,
      { hints: ['Each segment holds at least one step.'] },
    );
  }
  const run = (from: number, to: number, x: Tensor): Tensor =>
    list
      .slice(from, to)
      .reduce((value, step) => (typeof step === 'function' ? step(value) : step.forward(value)), x);
  const length = Math.floor(list.length / segments);
  let value = input;
  for (let i = 0; i < segments - 1; i++) {
    const from = i * length;
    value = checkpointWith(options, (x: Tensor) => run(from, from + length, x), value);
  }
  return run((segments - 1) * length, list.length, value);
}
