/**
 * @file State dicts: a module's tensors by name, out and in.
 *
 * Names and order are PyTorch's: a module's own parameters, its own persistent buffers, then its
 * children. Loading checks everything first, so a state dict that does not fit changes nothing.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isFloatingPoint, isTensor, noGrad } from '@tessera/tensor';
import { formatSizes, sameNumbers } from '@tessera/tensor/internal';
import type { LoadStateDictHook } from './hooks.js';
import type { Module } from './module.js';
import { replaceData } from './move-data.js';
import { everyPath, joinName, ownBuffers, ownParameters } from './module-tree.js';

/** Tensors by name. */
export type StateDict = Record<string, Tensor>;

/** Names that did not match when loading with `strict: false`. */
export interface LoadReport {
  readonly missingKeys: readonly string[];
  readonly unexpectedKeys: readonly string[];
}

/** How a state is loaded. */
export interface LoadStateOptions {
  /** Whether missing and unexpected names are errors (default true). */
  readonly strict?: boolean;
  /**
   * Takes over the given tensors with their memory, dtype and device, instead of copying what is in them (default
   * false). Parameters stay the same objects; they and the given tensors share memory from then on.
   */
  readonly assign?: boolean;
}

/** A module's own parameters and persistent buffers by name. */
function ownState(module: Module): [string, Tensor][] {
  return [...ownParameters(module), ...ownBuffers(module, true)];
}

/** Parameters and persistent buffers by name, not detached. */
function stateTensors(module: Module): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  everyPath(module, (prefix, part) => {
    for (const [name, tensor] of ownState(part)) tensors.set(joinName(prefix, name), tensor);
  });
  return tensors;
}

/** Parameters and persistent buffers by name, detached, after the hooks. */
export function collectState(module: Module): StateDict {
  const state: StateDict = {};
  everyPath(
    module,
    (prefix, part) => {
      for (const hook of part._hooks?.of('stateDictBefore') ?? []) hook(part, dotted(prefix));
      for (const [name, tensor] of ownState(part)) state[joinName(prefix, name)] = tensor.detach();
    },
    (part, prefix) => {
      for (const hook of part._hooks?.of('stateDict') ?? []) hook(part, state, dotted(prefix));
    },
  );
  return state;
}

/** A module's prefix as hooks see it: empty at the root, else with its dot. */
function dotted(prefix: string): string {
  return prefix === '' ? '' : `${prefix}.`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** What is wrong with a set of values, in PyTorch's words. */
function problemsOf(
  targets: ReadonlyMap<string, Tensor>,
  values: Readonly<Record<string, Tensor>>,
  { missingKeys, unexpectedKeys }: LoadReport,
  assign: boolean,
): { readonly problems: string[]; readonly mismatched: string[] } {
  const problems: string[] = [];
  if (missingKeys.length > 0)
    problems.push(`Missing key(s) in state_dict: ${quoted(missingKeys)}. `);
  if (unexpectedKeys.length > 0)
    problems.push(`Unexpected key(s) in state_dict: ${quoted(unexpectedKeys)}. `);
  const mismatched: string[] = [];
  for (const [name, target] of targets) {
    const value = values[name];
    if (value === undefined) continue;
    if (assign && isFloatingPoint(value.dtype) !== isFloatingPoint(target.dtype)) {
      mismatched.push(name);
      problems.push(`${name} is ${target.dtype}; ${value.dtype} cannot be assigned to it.`);
    }
    if (sameNumbers(value.sizes, target.sizes)) continue;
    mismatched.push(name);
    problems.push(
      `size mismatch for ${name}: copying a param with shape ${formatSizes(value.sizes)} from checkpoint, the shape in current model is ${formatSizes(target.sizes)}.`,
    );
  }
  return { problems, mismatched };
}

/** Puts one value into its place. @throws invalid-argument if a copy is to go where there is no memory */
function loadOne(name: string, target: Tensor, value: Tensor, assign: boolean): void {
  if (assign) {
    replaceData(target, value.detach());
    return;
  }
  if (target.isFake && !value.isFake)
    throw new TesseraError('invalid-argument', `'${name}' has no memory to copy a value into.`, {
      hints: ['The module was made by skipInit(): load with { assign: true }.'],
    });
  target.copy_(value.to(target.device));
}

/**
 * Copies values in by name, or puts them in the place of what is there. Everything is checked before anything is copied; only missing and
 * unexpected names are checked afterwards when there are load hooks, which may forgive them.
 *
 * @throws state-dict-mismatch, invalid-argument
 */
export function loadTensors(
  module: Module,
  values: Readonly<Record<string, Tensor>>,
  { strict = true, assign = false }: LoadStateOptions,
): LoadReport {
  const given = { ...values };
  const after: [LoadStateDictHook, Module][] = [];
  const parts: [string, Module][] = [];
  everyPath(
    module,
    (name, part) => {
      const prefix = dotted(name);
      parts.push([prefix, part]);
      for (const hook of part._hooks?.of('loadBefore') ?? []) hook(part, given, prefix);
      part._loading(given, prefix);
    },
    (part) => {
      for (const hook of part._hooks?.of('load') ?? []) after.push([hook, part]);
    },
  );
  const targets = stateTensors(module);
  const keys = {
    missingKeys: [...targets.keys()].filter((name) => given[name] === undefined),
    unexpectedKeys: Object.keys(given).filter((name) => !targets.has(name)),
  };
  const none: LoadReport = { missingKeys: [], unexpectedKeys: [] };
  // A key for which the module has a tensor, but no parameter or buffer.
  const plain = (): string[] => {
    for (const key of keys.unexpectedKeys)
      for (const [prefix, part] of parts) {
        const name = key.slice(prefix.length);
        if (key.startsWith(prefix) && isTensor(Reflect.get(part, name)))
          return [`${key} is no buffer: register it by registerBuffer().`];
      }
    return [];
  };
  const check = (report: LoadReport): void => {
    const { problems, mismatched } = problemsOf(targets, given, report, assign);
    if (problems.length === 0) return;
    throw new TesseraError(
      'state-dict-mismatch',
      `Error(s) in loading state_dict for ${module.constructor.name}:\n\t${problems.join('\n\t')}`,
      {
        context: { ...keys, mismatched },
        hints:
          mismatched.length > 0
            ? ['Build the module with the sizes of the checkpoint.']
            : [...plain(), 'Rename the keys, or pass { strict: false } to load what fits.'],
      },
    );
  };
  check(strict && after.length === 0 ? keys : none);
  noGrad(() => {
    for (const [name, target] of targets) {
      const value = given[name];
      if (value !== undefined) loadOne(name, target, value, assign);
    }
  });
  for (const [prefix, part] of parts) part._loaded(given, prefix);
  for (const [hook, part] of after) hook(part, keys);
  if (strict) check(keys);
  return keys;
}
