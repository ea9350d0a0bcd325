/**
 * @file Which updates of optimizers a tracer may match as one unit.
 *
 * A built-in rule reads nothing but its arguments and the tracked attributes of its optimizer, so `step` runs it in a
 * trusted region (see `trustedRegion` in `@tessera/tensor`). Trust belongs to the code that runs: a subclass that
 * inherits a built-in update is trusted, one that overrides it is not.
 */

const updates = new WeakSet<object>();

/** Trusts the update of a built-in optimizer. */
export function trustUpdate(builtIn: { readonly prototype: object }): void {
  updates.add((builtIn.prototype as { update: object }).update);
}

/** Whether an optimizer runs the update of a built-in rule. */
export function isTrustedUpdate(update: object): boolean {
  return updates.has(update);
}
