/**
 * @file Walking the tree of a module's fields.
 *
 * Parameters, buffers and submodules are plain fields; arrays of parameters or modules count as if each
 * item were a field (`layers.0`). What is in `#private` fields, behind functions or in other objects is not found.
 * All walks are iterative.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { Parameter } from '../parameter.js';
import type { Module } from './module.js';

/** Tells modules apart without importing the class (which imports this file). */
export const MODULE_TAG: unique symbol = Symbol.for('tessera.nn.Module');

/** An object's properties by names that are not known before. */
export function fieldsOf(owner: object): Partial<Record<string, unknown>> {
  return owner;
}

/** Whether a value is a module of this or another copy of the package. */
export function isModule(value: unknown): value is Module {
  return typeof value === 'object' && value !== null && MODULE_TAG in value;
}

/** Names of a module's fields in order, of which an object has those that are numbers first. */
function namesOf(module: Module): string[] {
  const names = Object.keys(module);
  const { _last: last } = module;
  return last === undefined ? names : [...names.filter((name) => !last.includes(name)), ...last];
}

/** Puts an entry that was just added behind all others, where an object has it before them since its name is a number. */
export function putLast(
  module: Module,
  name: string,
  entries: readonly (readonly [string, unknown])[],
): void {
  if (entries.at(-1)![0] !== name) (module._last ??= []).push(name);
}

/** Fields of a module with the items of its arrays, in order. */
function* fields(module: Module): Generator<[string, unknown]> {
  for (const key of namesOf(module)) {
    const value: unknown = Reflect.get(module, key);
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) yield [`${key}.${i}`, value[i]];
    } else {
      yield [key, value];
    }
  }
}

/** A module's own parameters by field name. */
export function* ownParameters(module: Module): Generator<[string, Parameter]> {
  for (const [name, value] of fields(module)) if (value instanceof Parameter) yield [name, value];
}

/** A module's own registered buffers by field name. */
export function* ownBuffers(module: Module, persistentOnly = false): Generator<[string, Tensor]> {
  for (const [name, persistent] of module._buffers ?? []) {
    const value: unknown = Reflect.get(module, name);
    if (isTensor(value) && (persistent || !persistentOnly)) yield [name, value];
  }
}

/** A module's direct submodules by field name. */
export function* ownChildren(module: Module): Generator<[string, Module]> {
  for (const [name, value] of fields(module)) if (isModule(value)) yield [name, value];
}

/** The same without names: nothing is built for each of them, since containers ask at every call. */
export function childrenOf(module: Module): Module[] {
  const found: Module[] = [];
  const owner: object = module;
  const own: Partial<Record<string, unknown>> = owner;
  for (const name of namesOf(module)) {
    const value = own[name];
    if (isModule(value)) found.push(value);
    else if (Array.isArray(value)) found.push(...value.filter(isModule));
  }
  return found;
}

/** What stands at a dotted path of fields and array items. @throws invalid-argument if it is nothing of the kind */
export function memberAt<T>(
  root: Module,
  path: string,
  kind: string,
  isKind: (value: unknown, owner: unknown, name: string) => value is T,
): T {
  let owner: unknown = null;
  let value: unknown = root;
  const names = path === '' ? [] : path.split('.');
  for (const name of names) {
    owner = value;
    value =
      typeof owner === 'object' && owner !== null && Object.hasOwn(owner, name)
        ? Reflect.get(owner, name)
        : undefined;
  }
  if (isKind(value, owner, names.at(-1) ?? '')) return value;
  throw new TesseraError('invalid-argument', `${root.constructor.name} has no ${kind} '${path}'.`, {
    hints: ['Names are those of namedModules(), namedParameters() and namedBuffers().'],
  });
}

/** `prefix.name`, or the name alone at the root. */
export function joinName(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}.${name}`;
}

/** Modules below and including `root`, parents first; one that is reachable twice is listed once. */
export function uniqueModules(root: Module, prefix: string): [string, Module][] {
  const found: [string, Module][] = [];
  const seen = new Set<Module>();
  const stack: [string, Module][] = [[prefix, root]];
  while (stack.length > 0) {
    const [name, module] = stack.pop()!;
    if (seen.has(module)) continue;
    seen.add(module);
    found.push([name, module]);
    const children = [...ownChildren(module)];
    for (let i = children.length - 1; i >= 0; i--)
      stack.push([joinName(name, children[i]![0]), children[i]![1]]);
  }
  return found;
}

/** One step of a walk: a module is entered with its name, or left. */
interface Visit {
  readonly name: string;
  readonly module: Module;
  readonly leave: boolean;
}

/**
 * Every path to every module: `before` parents first, `after` children first. A module reachable on two
 * paths is visited on both, as in PyTorch's `state_dict` and `apply`.
 *
 * @throws invalid-argument if a module contains itself
 */
export function everyPath(
  root: Module,
  before: (name: string, module: Module) => void,
  after: (module: Module, name: string) => void = () => {},
): void {
  const onPath = new Set<Module>();
  const stack: Visit[] = [{ name: '', module: root, leave: false }];
  while (stack.length > 0) {
    const { name, module, leave } = stack.pop()!;
    if (leave) {
      onPath.delete(module);
      after(module, name);
      continue;
    }
    if (onPath.has(module)) {
      throw new TesseraError(
        'invalid-argument',
        `${module.constructor.name} contains itself as '${name}'.`,
        {
          hints: [
            'Keep what refers back to a parent in a #private field, or behind a function: it is then no submodule.',
          ],
        },
      );
    }
    onPath.add(module);
    before(name, module);
    stack.push({ name, module, leave: true });
    const children = [...ownChildren(module)];
    for (let i = children.length - 1; i >= 0; i--)
      stack.push({ name: joinName(name, children[i]![0]), module: children[i]![1], leave: false });
  }
}
