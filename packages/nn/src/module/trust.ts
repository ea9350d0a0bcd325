/**
 * @file Which forwards a tracer may match as one unit.
 *
 * A built-in module's forward reads nothing but its arguments and the tracked attributes of the module,
 * so `Module.call` runs it in a trusted region (see `trustedRegion` in `@tessera/tensor`). Trust belongs
 * to the forward function itself: a subclass that inherits a built-in forward is trusted, one that
 * overrides it is not.
 */
import type { Module } from './module.js';

/** Whether a container's forward may be trusted now; null for plain modules, which always may. */
type Condition = ((module: Module) => boolean) | null;

const trusted = new Map<unknown, Condition>();

/** Trusts the forward of a built-in class; a container also gives the condition on its children. */
export function trustForward(
  builtIn: { readonly prototype: { readonly forward: unknown } },
  condition: Condition = null,
): void {
  trusted.set(builtIn.prototype.forward, condition);
}

/** Whether the module's forward may be matched as one unit: built in, without hooks, and so its children. */
export function isTrusted(module: Module): boolean {
  if (module.hasHooks) return false;
  const condition = trusted.get(module.forward);
  return condition === null || (condition !== undefined && condition(module));
}
