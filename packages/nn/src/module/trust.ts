/**
 * @file Which forwards and updates a tracer may match as one unit.
 *
 * A built-in module's forward reads nothing but its arguments and the tracked attributes of the module,
 * so `Module.call` runs it in a trusted region (see `trustedRegion` in `@tessera/tensor`); so does an
 * optimizer with the update of a built-in rule. Trust belongs to the code that runs: a subclass that
 * inherits a built-in forward is trusted, one that overrides it, or a method that it may call, is not.
 */
import { childrenOf } from './module-tree.js';
import type { Module } from './module.js';

/** What a container's forward depends on besides attributes, as text; null if it may not be trusted now. */
type Condition = ((module: Module) => string | null) | null;

const trusted = new Map<unknown, Condition>();
const builtIns = new WeakSet<object>();
const updates = new WeakSet<object>();

/** Members that no forward calls. */
const APART: ReadonlySet<PropertyKey> = new Set(['constructor', 'extraRepr', 'toString']);

/** Trusts the forward of built-in classes; containers also give a condition on their children. */
export function trustForward(
  classes: readonly { readonly prototype: { readonly forward: unknown } }[],
  condition: Condition = null,
): void {
  for (const { prototype } of classes) {
    builtIns.add(prototype);
    trusted.set(prototype.forward, condition);
  }
}

/** Trusts the update of a built-in optimizer. */
export function trustUpdate(builtIn: { readonly prototype: object }): void {
  updates.add((builtIn.prototype as { update: object }).update);
}

/** Whether an optimizer runs the update of a built-in rule. */
export function isTrustedUpdate(update: object): boolean {
  return updates.has(update);
}

const overriding = new WeakMap<object, boolean>();

/** Whether a class of the user, between the object and a built-in class, overrides something that it has. */
function overrides(module: Module): boolean {
  const prototype = Object.getPrototypeOf(module) as object;
  if (builtIns.has(prototype)) return false;
  let known = overriding.get(prototype);
  if (known === undefined) overriding.set(prototype, (known = overridesBelow(prototype)));
  return known;
}

function overridesBelow(prototype: object): boolean {
  const added: PropertyKey[] = [];
  let at: object | null = prototype;
  for (; at !== null && !builtIns.has(at); at = Object.getPrototypeOf(at) as object | null)
    added.push(...Reflect.ownKeys(at));
  return at === null || added.some((name) => !APART.has(name) && name in at);
}

/** Calls that run while modules hold tensors that are not theirs. */
let untrusted = 0;

/** Runs `fn` with no forward matched as one unit. */
export function withoutTrust<R>(fn: () => R): R {
  untrusted++;
  try {
    return fn();
  } finally {
    untrusted--;
  }
}

/**
 * Null unless the module's forward may be matched as one unit: built in, without hooks, and so its
 * children. Otherwise what it depends on besides its arguments and attributes, usually nothing.
 */
export function trustKey(module: Module): string | null {
  if (module.hasHooks || untrusted > 0 || 'parametrizations' in module) return null;
  const condition = trusted.get(module.forward);
  if (condition === undefined || overrides(module)) return null;
  return condition === null ? '' : condition(module);
}

/** The condition of a container that calls its children, or lists of them. */
export function trustChildren(module: Module): string | null {
  const keys: string[] = [];
  for (const child of childrenOf(module)) {
    const key = isList(child) ? trustChildren(child) : trustKey(child);
    if (key === null) return null;
    if (key !== '') keys.push(key);
  }
  return keys.join();
}

function isList(module: Module): boolean {
  return trusted.get(module.forward) === LIST;
}

const LIST: Condition = () => null;

/** A container without a forward of its own: whoever calls its children is trusted if they are. */
export function trustList(list: { readonly prototype: { readonly forward: unknown } }): void {
  builtIns.add(list.prototype);
  trusted.set(list.prototype.forward, LIST);
}
