/**
 * @file `aotModule`: compiles a module, with its parameters and buffers as inputs of the graphs.
 *
 * While it is traced, the module's fields hold FakeTensors instead of its tensors; afterwards they are as
 * they were. Modelled on functorch's aot_module.
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import type { AotOptions } from './aot-compile.js';
import { aotFunction } from './aot-function.js';

/** What `aotModule` needs of a module; `Module` of `@tessera/nn` has it. */
export interface ModuleLike {
  call(...args: unknown[]): unknown;
  /** This module and those below it, each once. */
  namedModules(): readonly (readonly [string, object])[];
}

/** A field of a module that holds a tensor. */
interface Slot {
  readonly owner: object;
  readonly key: string;
  readonly path: string;
  readonly tensor: Tensor;
}

/**
 * A compiled form of a module's `call`. Tensors are read from the module on every call, so updates,
 * replaced parameters and `train()`/`eval()` are seen; other attributes are frozen when it compiles.
 *
 * @throws aot-unsupported, graph-lint when called with arguments that cannot be compiled
 */
export function aotModule<M extends ModuleLike>(module: M, options: AotOptions): M['call'] {
  type State = Readonly<Record<string, Tensor>>;
  const compiled = aotFunction(
    (self: State, _modes: readonly unknown[], ...args: readonly unknown[]) =>
      withState(module, self, () => module.call(...args)),
    options,
  );
  return (...args: readonly unknown[]): unknown =>
    compiled(stateOf(module), modesOf(module), ...args);
}

/** Every distinct tensor of a module, by the path at which it is found first. */
function stateOf(module: ModuleLike): Record<string, Tensor> {
  const paths = new Map<Tensor, string>();
  for (const { tensor, path } of slotsOf(module)) if (!paths.has(tensor)) paths.set(tensor, path);
  return Object.fromEntries([...paths].map(([tensor, path]) => [path, tensor]));
}

/** What decides a module's behaviour besides its tensors and is meant to change. */
function modesOf(module: ModuleLike): unknown[] {
  return module.namedModules().map(([, part]) => ('training' in part ? part.training : null));
}

function slotsOf(module: ModuleLike): Slot[] {
  return module.namedModules().flatMap(([name, owner]) =>
    Object.entries(owner).flatMap(([key, tensor]): Slot[] => {
      const path = name === '' ? key : `${name}.${key}`;
      return isTensor(tensor) ? [{ owner, key, path, tensor }] : [];
    }),
  );
}

/** Runs `fn` while the module's fields hold `state`; tied fields hold the same tensor. */
function withState<R>(module: ModuleLike, state: Readonly<Record<string, Tensor>>, fn: () => R): R {
  const slots = slotsOf(module);
  const standIns = new Map<Tensor, Tensor>();
  for (const { path, tensor } of slots) if (path in state) standIns.set(tensor, state[path]);
  for (const { owner, key, tensor } of slots) Object.assign(owner, { [key]: standIns.get(tensor) });
  try {
    return fn();
  } finally {
    for (const { owner, key, tensor } of slots) Object.assign(owner, { [key]: tensor });
  }
}
