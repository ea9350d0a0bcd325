/**
 * @file Peak memory of a compiled training step beside what it cannot do without.
 *
 * Bytes of the tensor heap as it accounts for them, not of the process: parameters, their gradients, the
 * optimizer's state, the inputs, and what is saved between forward and backward are needed; the rest of the peak is
 * what the compiler's plans add. No collection is forced meanwhile.
 */
import { compile } from '@tessera/compile';
import { type Tensor, cpuHeap, liveStorageBytes } from '@tessera/tensor';
import { reclaimNow, withoutForcedCollection } from '@tessera/tensor/internal';
import { gptTraining } from './gpt-training.js';

/** Bytes. */
export interface TrainingMemory {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly inputs: number;
  /** Between the forward and the backward pass, if they are compiled apart. */
  readonly saved: number;
  /** Sum of the above. */
  readonly needed: number;
  /** Highest during a step that is compiled whole. */
  readonly peak: number;
  /** Highest during a step whose loss is compiled, and whose backward pass and optimizer run outside. */
  readonly peakApart: number;
  readonly peakToNeeded: number;
  /** Growth of live bytes per step. */
  readonly growth: number;
}

const STEPS = 8;

function bytesOf(tensors: Iterable<Tensor>): number {
  let bytes = 0;
  for (const tensor of tensors) bytes += tensor.storage.nbytes;
  return bytes;
}

/** Bytes that one run of `fn` leaves live. */
function left(fn: () => unknown): number {
  const before = liveStorageBytes();
  fn();
  return liveStorageBytes() - before;
}

/** Highest heap use during steps after the first ones, above `base`. */
function peakOf(step: () => unknown, base: number): number {
  for (let i = 0; i < 3; i++) step();
  // What making the model and compiling its step left behind.
  reclaimNow();
  const heap = cpuHeap();
  heap.resetPeak();
  withoutForcedCollection(() => {
    for (let i = 0; i < STEPS; i++) step();
  });
  return heap.stats().peakBytes - base;
}

/** Measures both ways to compile the step. */
export function trainingMemory(): TrainingMemory {
  const whole = measureWhole();
  const apart = measureApart();
  const needed =
    whole.parameters + whole.gradients + whole.optimizerState + whole.inputs + apart.saved;
  return {
    ...whole,
    saved: apart.saved,
    needed,
    peakApart: apart.peak,
    peakToNeeded: whole.peak / needed,
  };
}

function measureWhole(): Omit<TrainingMemory, 'saved' | 'needed' | 'peakApart' | 'peakToNeeded'> {
  reclaimNow();
  const base = cpuHeap().stats().liveBytes;
  const training = gptTraining();
  const step = compile(training.step);
  const peak = peakOf(step, base);
  return withoutForcedCollection(() => {
    const growth = left(() => Array.from({ length: STEPS }, step)) / STEPS;
    const { parameters, inputs, optimizer } = training;
    const state = parameters.flatMap((p) => Object.values(optimizer.state.get(p)?.tensors ?? {}));
    const result = {
      parameters: bytesOf(parameters),
      gradients: bytesOf(parameters.flatMap((p) => p.grad ?? [])),
      optimizerState: bytesOf(state),
      inputs: bytesOf(inputs),
      peak,
      growth,
    };
    for (const tensor of [
      ...parameters.flatMap((p) => p.grad ?? []),
      ...parameters,
      ...inputs,
      ...state,
    ])
      tensor.dispose();
    return result;
  });
}

function measureApart(): { readonly saved: number; readonly peak: number } {
  reclaimNow();
  const base = cpuHeap().stats().liveBytes;
  const { loss, optimizer } = gptTraining();
  const compiled = compile(loss);
  const step = (): void => {
    optimizer.zeroGrad();
    compiled().backward();
    optimizer.step();
  };
  const peak = peakOf(step, base);
  return withoutForcedCollection(() => {
    let value: Tensor | null = null;
    const saved = left(() => (value = compiled()));
    (value as Tensor | null)!.backward();
    return { saved, peak };
  });
}
