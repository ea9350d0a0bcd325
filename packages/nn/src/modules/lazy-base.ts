/**
 * @file What lazy modules do: take their sizes from the first input.
 *
 * Until then parameters are empty; optimizers made before hold the same objects. A state dict may come first and
 * brings the sizes as well. With its sizes a module becomes an ordinary one: `LazyLinear` a `Linear`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, empty, isTensor, noGrad } from '@tessera/tensor';
import { formatSizes, checkTensors } from '@tessera/tensor/internal';
import { fieldsOf } from '../module/module-tree.js';
import type { Module } from '../module/module.js';
import { replaceData } from '../module/move-data.js';

/** What a lazy class says about itself. */
export interface LazyPlan<M extends Module> {
  /** The ordinary class. */
  readonly becomes: { readonly prototype: M };
  /** Sizes of the tensors that are empty, by field name, from the number of inputs. */
  sizes(module: M, inputs: number): Readonly<Record<string, readonly number[]>>;
  /** The number of inputs, from a tensor of the state dict; null if it is not there. */
  inputsOf(module: M, state: Readonly<Record<string, Tensor>>, prefix: string): number | null;
  /** Notes the number of inputs in the module. */
  note(module: Writable<M>, inputs: number): void;
}

/** The size of a dimension of a tensor in a state dict. */
export function sizeIn(
  state: Readonly<Record<string, unknown>>,
  name: string,
  dim: number,
): number | null {
  const tensor = state[name];
  return isTensor(tensor) ? (tensor.sizes[dim] ?? null) : null;
}

/** What a plan notes sizes in. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

const waiting = new WeakMap<Module, (inputs: number) => void>();

/** Whether a module still waits for its sizes. */
export function hasUninitializedParams(module: Module): boolean {
  return waiting.has(module);
}

/** Makes a module wait for its sizes; called by its constructor. */
export function beLazy<M extends Module & { resetParameters(): void }>(
  module: M,
  plan: LazyPlan<M>,
): void {
  const hook = module.registerLoadStateDictPreHook((_module, state, prefix) => {
    const inputs = waiting.has(module) ? plan.inputsOf(module, state, prefix) : null;
    if (inputs !== null) materialize(module, inputs);
  });
  waiting.set(module, (inputs) => {
    for (const [name, sizes] of Object.entries(plan.sizes(module, inputs))) {
      const tensor = fieldsOf(module)[name];
      if (!isTensor(tensor)) continue;
      const { dtype, device } = tensor;
      noGrad(() => replaceData(tensor, empty(sizes, { dtype, device })));
    }
    plan.note(module, inputs);
    hook.remove();
    Object.setPrototypeOf(module, plan.becomes.prototype);
    module.resetParameters();
  });
}

/** Gives a module its sizes, and the values that a new one starts with. */
function materialize(module: Module, inputs: number): void {
  const give = waiting.get(module)!;
  waiting.delete(module);
  give(inputs);
}

/** The number of inputs in dimension `dim` of an input; the module becomes an ordinary one. @throws shape-mismatch */
export function initializeFrom(module: Module, input: Tensor, dim: number): void {
  if (!waiting.has(module)) return;
  checkTensors(module.constructor.name, { input });
  const inputs = input.sizes.at(dim);
  if (inputs === undefined)
    throw new TesseraError(
      'shape-mismatch',
      `${module.constructor.name}: the number of inputs cannot be taken from an input of shape ${formatSizes(input.sizes)}.`,
      { hints: ['The first input has the rank that the module expects.'] },
    );
  materialize(module, inputs);
}
