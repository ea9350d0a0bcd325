/**
 * @file `Module`: the base of everything with parameters.
 *
 * Parameters (`Parameter`), submodules and buffers (`registerBuffer`) are plain class fields; a field's
 * name is its name in the state dict, also where it starts with an underscore: what is in a `#private` field is not
 * found. Modules are tracked objects: the attributes of one that a tracer guards (an argument of a `pure` function, say)
 * are constants, and its tensors inputs. Modelled on `torch.nn.Module`, whose constructor refuses arguments, too: a
 * class without one of its own takes none.
 */
import { TesseraError, inspectsAs } from '@tessera/shared';
import { type DeviceType, type DType, type Tensor, isTensor } from '@tessera/tensor';
import { runningModules, trackClass } from '@tessera/tensor/internal';
import { Parameter } from '../parameter.js';
import {
  type BackwardHook,
  type BackwardPreHook,
  type ForwardHook,
  type ForwardPreHook,
  type HookHandle,
  type HookOptions,
  type LoadStateDictHook,
  ModuleHooks,
  type StateDictHook,
  type StateDictPreHook,
} from './hooks.js';
import { moduleText } from './module-repr.js';
import {
  fieldsOf,
  MODULE_TAG,
  childrenOf,
  everyPath,
  isModule,
  joinName,
  memberAt,
  ownBuffers,
  ownChildren,
  ownParameters,
  uniqueModules,
} from './module-tree.js';
import { refuseArguments } from './check-options.js';
import { noteBuffer } from './module-state.js';
import { checkTarget, moveData } from './move-data.js';
import {
  type LoadReport,
  type LoadStateOptions,
  type StateDict,
  collectState,
  loadTensors,
} from './state-dict.js';
import { type ZeroGradOptions, clearGrads } from './clear-grad.js';

/** A module from one tensor to one tensor, as containers hold. */
export interface TensorModule extends Module {
  forward(input: Tensor): Tensor;
}

/** What a module computes: any arguments, any result. */
export type Forward = (...args: never[]) => unknown;

/** A module whose `forward` is `F`: how `call` finds its types, inside of a module's own class as well. */
export type CalledAs<F extends Forward> = Module & { forward: F };

/** Fields that every module has for other things. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['training', '_buffers', '_hooks']);

/**
 * See the file header.
 *
 * @example
 * class Net extends Module {
 *   fc = new Linear(64, 10);
 *   override forward(x: Tensor): Tensor {
 *     return this.fc.call(x).relu();
 *   }
 * }
 * const logits = new Net().call(images);
 */
export abstract class Module {
  /** Whether the module behaves as in training (dropout, batch statistics). Set it with `train()` and `eval()`. */
  training: boolean = true;
  /** Names of registered buffers, and whether they belong to the state dict; null while there are none. */
  _buffers: Map<string, boolean> | null = null;
  /** @internal Fields that come behind all others although their names are numbers. */
  declare _last?: string[];
  /** Hooks; null while there are none. */
  _hooks: ModuleHooks | null = null;

  constructor() {
    if (arguments.length > 0) refuseArguments(new.target.name, 0, arguments.length);
  }

  /** Computes the module's result; called by `call`. */
  abstract forward(...args: never[]): unknown;

  /** Runs the module: hooks around `forward`, whose arguments and result it has. */
  call<F extends Forward>(this: CalledAs<F>, ...args: Parameters<F>): ReturnType<this['forward']>;
  call(...args: readonly unknown[]): unknown {
    const hooks = this._hooks;
    if (hooks !== null && !hooks.isEmpty)
      return hooks.run(this, args, (current) => this._run(current));
    return this._run(args);
  }

  /** Runs forward; whoever records is told which module that is. */
  private _run(args: readonly unknown[]): unknown {
    runningModules.push(this);
    try {
      return this.forward(...(args as never[]));
    } finally {
      runningModules.pop();
    }
  }

  // ---- hooks

  private get hooks(): ModuleHooks {
    return (this._hooks ??= new ModuleHooks());
  }

  /** Calls `hook` before every forward; what it returns replaces the arguments. */
  registerForwardPreHook<F extends Forward>(
    this: CalledAs<F>,
    hook: ForwardPreHook<F, this>,
    options?: HookOptions,
  ): HookHandle {
    return this.hooks.add('before', hook, options);
  }

  /** Calls `hook` after every forward; what it returns replaces the result. */
  registerForwardHook<F extends Forward>(
    this: CalledAs<F>,
    hook: ForwardHook<F, this>,
    options?: HookOptions,
  ): HookHandle {
    return this.hooks.add('after', hook, options);
  }

  /** Calls `hook` when gradients of the results are known; what it returns replaces them. */
  registerFullBackwardPreHook(hook: BackwardPreHook, options?: HookOptions): HookHandle {
    return this.hooks.add('backwardBefore', hook, options);
  }

  /** Calls `hook` when gradients of the arguments are known; what it returns replaces them. */
  registerFullBackwardHook(hook: BackwardHook, options?: HookOptions): HookHandle {
    return this.hooks.add('backward', hook, options);
  }

  /** Calls `hook` before `stateDict()` collects this module's tensors. */
  registerStateDictPreHook(hook: StateDictPreHook): HookHandle {
    return this.hooks.add('stateDictBefore', hook);
  }

  /** Calls `hook` with what `stateDict()` collected so far, which it may change. */
  registerStateDictPostHook(hook: StateDictHook): HookHandle {
    return this.hooks.add('stateDict', hook);
  }

  /** Calls `hook` with the tensors that `loadStateDict()` is about to load, which it may change. */
  registerLoadStateDictPreHook(hook: StateDictHook): HookHandle {
    return this.hooks.add('loadBefore', hook);
  }

  /** Calls `hook` after loading, with the names that did not match. */
  registerLoadStateDictPostHook(hook: LoadStateDictHook): HookHandle {
    return this.hooks.add('load', hook);
  }

  /** Whether any hook sees calls of this module. */
  get hasHooks(): boolean {
    return this._hooks !== null && !this._hooks.isEmpty;
  }

  // ---- tensors and submodules

  /**
   * Makes a field a buffer: state that is no parameter. Persistent buffers belong to the state dict.
   *
   * @returns the tensor, so that `readonly mean = this.registerBuffer('mean', zeros([3]))` declares the field
   * @throws invalid-argument for a name that is taken or has dots
   */
  registerBuffer<T extends Tensor | null>(
    name: string,
    tensor: T,
    options: { readonly persistent?: boolean } = {},
  ): T {
    const taken = fieldsOf(this)[name];
    const isOthers = taken instanceof Parameter || isModule(taken);
    if (name === '' || name.includes('.') || OWN_FIELDS.has(name) || isOthers) {
      throw new TesseraError('invalid-argument', `A buffer cannot be called '${name}'.`, {
        hints: [
          'Take a name without dots that is no parameter, submodule or field of every module.',
        ],
      });
    }
    this._buffers ??= new Map();
    this._buffers.set(name, options.persistent ?? true);
    if (tensor !== null) noteBuffer(tensor);
    Object.assign(this, { [name]: tensor });
    return tensor;
  }

  /** The module at a dotted path; the empty path is this one. @throws invalid-argument if there is none */
  getSubmodule(path: string): Module {
    return memberAt(this, path, 'submodule', isModule);
  }

  /** The parameter at a dotted path. @throws invalid-argument if there is none */
  getParameter(path: string): Parameter {
    return memberAt(this, path, 'parameter', (value) => value instanceof Parameter);
  }

  /** The buffer at a dotted path. @throws invalid-argument if there is none */
  getBuffer(path: string): Tensor {
    return memberAt(
      this,
      path,
      'buffer',
      (value, owner, name): value is Tensor =>
        isTensor(value) && isModule(owner) && owner._buffers?.has(name) === true,
    );
  }

  /** Modules below and including this one with their names, parents first, each once. */
  namedModules({ prefix = '' }: { readonly prefix?: string } = {}): [string, Module][] {
    return uniqueModules(this, prefix);
  }

  /** Modules below and including this one. */
  modules(): Module[] {
    return this.namedModules().map(([, module]) => module);
  }

  /** Direct submodules with their names, each once. */
  namedChildren(): [string, Module][] {
    const names = new Map<Module, string>();
    for (const [name, module] of ownChildren(this)) if (!names.has(module)) names.set(module, name);
    return Array.from(names, ([module, name]) => [name, module]);
  }

  /** Direct submodules, each once. */
  children(): Module[] {
    return [...new Set(childrenOf(this))];
  }

  /** Parameters with their names, each once; only this module's own with `recurse: false`. */
  namedParameters(
    options: { readonly prefix?: string; readonly recurse?: boolean } = {},
  ): [string, Parameter][] {
    return this.namedTensors(ownParameters, options);
  }

  /** Parameters, each once. */
  parameters(options: { readonly recurse?: boolean } = {}): Parameter[] {
    return this.namedParameters(options).map(([, parameter]) => parameter);
  }

  /** Buffers with their names, each once. */
  namedBuffers(
    options: { readonly prefix?: string; readonly recurse?: boolean } = {},
  ): [string, Tensor][] {
    return this.namedTensors(ownBuffers, options);
  }

  /** Buffers, each once. */
  buffers(options: { readonly recurse?: boolean } = {}): Tensor[] {
    return this.namedBuffers(options).map(([, buffer]) => buffer);
  }

  private namedTensors<T extends Tensor>(
    own: (module: Module) => Iterable<[string, T]>,
    options: { readonly prefix?: string; readonly recurse?: boolean },
  ): [string, T][] {
    const prefix = options.prefix ?? '';
    const owners: readonly [string, Module][] =
      options.recurse === false ? [[prefix, this]] : uniqueModules(this, prefix);
    const seen = new Set<Tensor>();
    const found: [string, T][] = [];
    for (const [path, module] of owners) {
      for (const [name, tensor] of own(module)) {
        if (seen.has(tensor)) continue;
        seen.add(tensor);
        found.push([joinName(path, name), tensor]);
      }
    }
    return found;
  }

  // ---- changes to all of it

  /** Sets training mode here and below. */
  train(mode = true): this {
    for (const module of this.modules()) module.training = mode;
    return this;
  }

  /** Sets evaluation mode here and below. */
  eval(): this {
    return this.train(false);
  }

  /**
   * Moves parameters and buffers to a device, or converts floating-point ones to a dtype, or both, in place.
   *
   * @throws dtype-unsupported for a dtype that is not floating point, invalid-argument
   */
  to(target: DType | DeviceType): this;
  to(device: DeviceType, dtype?: DType): this;
  to(target: DType | DeviceType, dtype?: DType): this {
    checkTarget(target, dtype);
    for (const module of this.modules()) {
      if (dtype !== undefined) module._move(dtype);
      module._move(target);
    }
    return this;
  }

  /** @internal May change what is about to be loaded, of this module under names that begin with the prefix. */
  _loading(_values: Record<string, Tensor>, _prefix: string): void {}

  /** @internal Told that values were loaded, those of this module under names that begin with the prefix. */
  _loaded(_values: Readonly<Record<string, Tensor>>, _prefix: string): void {}

  /** @internal What `to` does with this module's own tensors, its submodules' later. */
  _move(target: DType | DeviceType): void {
    const own = { recurse: false };
    for (const tensor of [...this.parameters(own), ...this.buffers(own)]) moveData(tensor, target);
  }

  /** Sets `requiresGrad` of all parameters. */
  requiresGrad_(value = true): this {
    for (const parameter of this.parameters()) parameter.requiresGrad_(value);
    return this;
  }

  /** Calls `fn` with every submodule, children first, then with this module. */
  apply(fn: (module: Module) => void): this {
    everyPath(this, () => {}, fn);
    return this;
  }

  /** Clears the gradients of all parameters: sets them to null, or to zero. */
  zeroGrad(options?: ZeroGradOptions): void {
    clearGrads(this.parameters(), options);
  }

  // ---- state

  /** Parameters and persistent buffers by name, detached; they share memory with the module. */
  stateDict(): StateDict {
    return collectState(this);
  }

  /**
   * Copies values in by name, converting dtypes; with `assign`, takes over the given tensors instead.
   *
   * @throws state-dict-mismatch, before anything is copied; invalid-argument if a module without memory
   * (`skipInit`) is to be copied into
   */
  loadStateDict(
    values: Readonly<Record<string, Tensor>>,
    options: LoadStateOptions = {},
  ): LoadReport {
    return loadTensors(this, values, options);
  }

  // ---- text

  /** What stands between the parentheses of the printed module. */
  extraRepr(): string {
    return '';
  }

  /** As PyTorch prints modules. */
  toString(): string {
    return moduleText(this, false);
  }
}

Object.defineProperty(Module.prototype, MODULE_TAG, { value: true });
inspectsAs(Module);
Object.defineProperty(Module.prototype, 'forward', {
  configurable: true,
  writable: true,
  value(this: Module): never {
    throw new TesseraError(
      'invalid-argument',
      `${this.constructor.name} has no forward() of its own.`,
      {
        hints: [
          'Define forward(…): it computes what call(…) returns.',
          'A module that only holds others is not called: call those that it holds.',
        ],
      },
    );
  },
});
trackClass(Module);
