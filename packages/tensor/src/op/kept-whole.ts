/**
 * @file Operators that are not replaced by what their records say they are in terms of others (`expand`), because a backend has
 * code of its own for them.
 */
import type { OpOverload } from './op-overload.js';

/** Whether a call, given by its arguments' names, is kept. */
export type IsKept = (args: object) => boolean;

const kept = new Map<string, IsKept>();

/** Has traced programs keep the calls of an operator that `isKept` says. It must know their device. */
export function keepWhole(name: string, isKept: IsKept): void {
  kept.set(name, isKept);
}

/** Whether a call stays as it is in traced programs. */
export function isKeptWhole(op: OpOverload, args: readonly unknown[]): boolean {
  return kept.get(op.qualifiedName)?.(op.bind(args)) ?? false;
}
