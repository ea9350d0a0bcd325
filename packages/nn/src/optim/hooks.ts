/**
 * @file Hooks of an optimizer: around its step, and around its state dict.
 *
 * Functions instead of methods, so that pages without hooks have nothing of them: the first hook puts a method that runs
 * hooks before the optimizer's own. In a compiled step hooks run as in any other, and what they compute is part of its
 * graph. Modelled on the `register_*_hook` methods of `torch.optim.Optimizer`.
 */
import { checkFunction, checkOptionNames, TesseraError } from '@tessera/shared';
import type { HookHandle, HookOptions } from '../module/hooks.js';

/** What hooks are for: every optimizer. */
export interface Hookable {
  step(...args: never[]): unknown;
  stateDict(): object;
  loadStateDict(dict: never): void;
}

/** What a step may be given: a function that computes the loss again. */
export type StepArguments = readonly [closure?: (() => unknown) | null];

/** Sees the arguments of a step before it; a returned array replaces them. */
export type StepPreHook<O extends Hookable> = (
  optimizer: O,
  args: StepArguments,
) => StepArguments | void;

/** Runs after a step, with its arguments. */
export type StepPostHook<O extends Hookable> = (optimizer: O, args: StepArguments) => void;

/** Runs before a state dict is made. */
export type OptimizerStateDictPreHook<O extends Hookable> = (optimizer: O) => void;

/** Sees a state dict that was made; a returned one replaces it. */
export type OptimizerStateDictPostHook<O extends Hookable> = (
  optimizer: O,
  stateDict: ReturnType<O['stateDict']>,
) => ReturnType<O['stateDict']> | void;

/** Sees a copy of a state dict before it is loaded; a returned one replaces it. */
export type LoadStateDictPreHook<O extends Hookable> = (
  optimizer: O,
  stateDict: Parameters<O['loadStateDict']>[0],
) => Parameters<O['loadStateDict']>[0] | void;

/** Runs after a state dict was loaded. */
export type LoadStateDictPostHook<O extends Hookable> = (optimizer: O) => void;

type Arguments = readonly unknown[];

/** What runs around one method: `before` may replace its arguments, `after` its result. */
interface Around {
  readonly before: ((args: Arguments) => Arguments | void)[];
  readonly after: ((args: Arguments, result: unknown) => unknown)[];
}

const installed = new WeakMap<Hookable, Map<keyof Hookable, Around>>();

/** @throws invalid-argument */
function checkOptimizer(optimizer: unknown): void {
  if (typeof (optimizer as Partial<Hookable> | null | undefined)?.step === 'function') return;
  throw new TesseraError(
    'invalid-argument',
    `Hooks are of optimizers, not of ${String(optimizer)}.`,
    {
      hints: ['Write registerStepPostHook(optimizer, (optimizer) => …).'],
    },
  );
}

/** The hooks around a method of an optimizer. */
function around(optimizer: Hookable, name: keyof Hookable): Around {
  checkOptimizer(optimizer);
  let methods = installed.get(optimizer);
  if (methods === undefined)
    installed.set(optimizer, (methods = new Map<keyof Hookable, Around>()));
  let hooks = methods.get(name);
  if (hooks === undefined) methods.set(name, (hooks = install(optimizer, name)));
  return hooks;
}

function install(optimizer: Hookable, name: keyof Hookable): Around {
  const hooks: Around = { before: [], after: [] };
  const own = optimizer[name] as (...args: Arguments) => unknown;
  Object.defineProperty(optimizer, name, {
    configurable: true,
    writable: true,
    value(...given: Arguments): unknown {
      const args = [...hooks.before].reduce((before, hook) => hook(before) ?? before, given);
      const finish = (made: unknown): unknown =>
        [...hooks.after].reduce((result, hook) => hook(args, result) ?? result, made);
      const result = Reflect.apply(own, optimizer, args);
      // A step with a closure that waits is over later.
      return result instanceof Promise ? result.then(finish) : finish(result);
    },
  });
  return hooks;
}

/** Puts `run`, which calls the program's `hook`, among the hooks at one side of a method; `owner` names it in errors. */
function add<F>(
  owner: string,
  hook: unknown,
  list: F[],
  run: F,
  options?: HookOptions,
): HookHandle {
  checkFunction(owner, hook);
  checkOptionNames(owner, options, { prepend: true });
  if (options?.prepend === true) list.unshift(run);
  else list.push(run);
  return {
    remove() {
      const at = list.indexOf(run);
      if (at >= 0) list.splice(at, 1);
    },
  };
}

/** Calls `hook` before every step of an optimizer. @see torch.optim.Optimizer.register_step_pre_hook */
export function registerStepPreHook<O extends Hookable>(
  optimizer: O,
  hook: StepPreHook<O>,
): HookHandle {
  const run = (args: Arguments): Arguments | void => hook(optimizer, args as StepArguments);
  return add('registerStepPreHook', hook, around(optimizer, 'step').before, run);
}

/** Calls `hook` after every step of an optimizer. @see torch.optim.Optimizer.register_step_post_hook */
export function registerStepPostHook<O extends Hookable>(
  optimizer: O,
  hook: StepPostHook<O>,
): HookHandle {
  const run = (args: Arguments): void => hook(optimizer, args as StepArguments);
  return add('registerStepPostHook', hook, around(optimizer, 'step').after, run);
}

/** Calls `hook` before `stateDict()`. @see torch.optim.Optimizer.register_state_dict_pre_hook */
export function registerStateDictPreHook<O extends Hookable>(
  optimizer: O,
  hook: OptimizerStateDictPreHook<O>,
  options?: HookOptions,
): HookHandle {
  const { before } = around(optimizer, 'stateDict');
  return add('registerStateDictPreHook', hook, before, () => hook(optimizer), options);
}

/** Calls `hook` with what `stateDict()` made. @see torch.optim.Optimizer.register_state_dict_post_hook */
export function registerStateDictPostHook<O extends Hookable>(
  optimizer: O,
  hook: OptimizerStateDictPostHook<O>,
  options?: HookOptions,
): HookHandle {
  const { after } = around(optimizer, 'stateDict');
  const run = (_args: Arguments, dict: unknown): unknown =>
    hook(optimizer, dict as ReturnType<O['stateDict']>);
  return add('registerStateDictPostHook', hook, after, run, options);
}

/** Calls `hook` with a copy of what `loadStateDict` is about to load. @see torch.optim.Optimizer.register_load_state_dict_pre_hook */
export function registerLoadStateDictPreHook<O extends Hookable>(
  optimizer: O,
  hook: LoadStateDictPreHook<O>,
  options?: HookOptions,
): HookHandle {
  const { before } = around(optimizer, 'loadStateDict');
  const run = ([given]: Arguments): Arguments => {
    const dict = { ...(given as object) } as Parameters<O['loadStateDict']>[0];
    return [hook(optimizer, dict) ?? dict];
  };
  return add('registerLoadStateDictPreHook', hook, before, run, options);
}

/** Calls `hook` after `loadStateDict`. @see torch.optim.Optimizer.register_load_state_dict_post_hook */
export function registerLoadStateDictPostHook<O extends Hookable>(
  optimizer: O,
  hook: LoadStateDictPostHook<O>,
  options?: HookOptions,
): HookHandle {
  const { after } = around(optimizer, 'loadStateDict');
  return add('registerLoadStateDictPostHook', hook, after, () => void hook(optimizer), options);
}
