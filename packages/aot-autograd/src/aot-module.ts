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
  call(...args: never[]): unknown;
  /** This module and those below it, each once. */
  namedModules(): readonly (readonly [string, object])[];
}

/** A field of a module that holds a tensor. */
interface Slot {
  readonly owner: Record<string, unknown>;
  readonly key: string;
  readonly path: string;
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
      withState(module, self, () => module.call(...(args as never[]))),
    options,
  );
  return (...args: readonly unknown[]): unknown =>
    compiled(stateOf(module), modesOf(module), ...args);
}

/** Every distinct tensor of a module, by the path at which it is found first. */
function stateOf(module: ModuleLike): Record<string, Tensor> {
  const paths = new Map<Tensor, string>();
  for (const { owner, key, path } of slotsOf(module)) {
    const tensor = owner[key] as Tensor;
    if (!paths.has(tensor)) paths.set(tensor, path);
  }
  return Object.fromEntries([...paths].map(([tensor, path]) => [path, tensor]));
}

/** What decides a module's behaviour besides its tensors and is meant to change. */
function modesOf(module: ModuleLike): unknown[] {
  return module.namedModules().map(([, part]) => ('training' in part ? part.training : null));
}

function slotsOf(module: ModuleLike): Slot[] {
  return module.namedModules().flatMap(([name, part]) => {
    const owner = part as Record<string, unknown>;
    return Object.keys(owner)
      .filter((key) => isTensor(owner[key]))
      .map((key): Slot => ({ owner, key, path: name === '' ? key : `${name}.${key}` }));
  });
}

/** Runs `fn` while the module's fields hold `state`; tied fields hold the same tensor. */
function withState<R>(module: ModuleLike, state: Readonly<Record<string, Tensor>>, fn: () => R): R {
  const slots = slotsOf(module);
  const originals = slots.map(({ owner, key }) => owner[key] as Tensor);
  const standIns = new Map<Tensor, Tensor>();
  slots.forEach(({ path }, i) => {
    if (path in state) standIns.set(originals[i], state[path]);
  });
  slots.forEach(({ owner, key }, i) => (owner[key] = standIns.get(originals[i])));
  try {
    return fn();
  } finally {
    slots.forEach(({ owner, key }, i) => (owner[key] = originals[i]));
  }
}
