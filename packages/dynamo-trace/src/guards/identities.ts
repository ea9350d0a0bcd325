/**
 * @file Which values of a call are the same object, and which are not.
 *
 * A function that does not run again may have compared objects: two that were one must stay one, and of a class those
 * that were two must stay two. Tracked objects without tensors of their own are not told apart.
 */
import { printSource } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import { isCallOpen } from '../frame/frame.js';
import type { Place } from './guard.js';
import { valueAt } from './guard-tree.js';

/** Marks tensors of one check; frames have positive numbers. */
let mark = -1;

/**
 * Whether the same tensors are one as before: `firsts[i]` is the index of the first that is tensor `i`. There may be
 * more tensors, which do not count.
 */
export function sameIdentities(
  tensors: readonly (Tensor | undefined)[],
  firsts: readonly number[],
): boolean {
  // A call in progress has numbered its tensors: then a Map keeps count.
  if (isCallOpen()) return changedIdentity(tensors.slice(0, firsts.length), firsts) < 0;
  const current = --mark;
  for (let i = 0; i < firsts.length; i++) {
    const tensor = tensors[i]!;
    if (tensor.traceOwner === current) {
      if (tensor.traceSlot !== firsts[i]) return false;
      continue;
    }
    if (firsts[i] !== i) return false;
    tensor.traceOwner = current;
    tensor.traceSlot = i;
  }
  return true;
}

/** Index of the first value that is the same as another one before it, or not, unlike `firsts` says; or -1. */
export function changedIdentity(values: readonly unknown[], firsts: readonly number[]): number {
  const seen = new Map<unknown, number>();
  return values.findIndex((value, i) => {
    const first = seen.get(value) ?? i;
    if (first === i) seen.set(value, i);
    return first !== firsts[i];
  });
}

/** Containers of a call. */
export class ObjectIdentities {
  private first: Map<object, Place> | null = new Map();
  /** Places of different objects, by class. */
  private readonly byType = new Map<unknown, Place[]>();

  /** Notes an object, by default one that must differ from others of its class; where it was met before, if it was. */
  add(value: object, place: Place, told = true): Place | null {
    const known = this.first!.get(value);
    if (known !== undefined) return known;
    this.first!.set(value, place);
    const type: unknown = Object.getPrototypeOf(value);
    if (told) this.byType.set(type, [...(this.byType.get(type) ?? []), place]);
    return null;
  }

  /** All objects are noted, and are not held any longer. */
  seal(): void {
    this.first = null;
  }

  /** Two that are one now, in words; null if there are none. */
  reason(roots: readonly unknown[]): string | null {
    for (const places of this.byType.values()) {
      if (places.length < 2) continue;
      const seen = new Map<unknown, Place>();
      for (const place of places) {
        const value = valueAt(place, roots);
        const before = seen.get(value);
        if (before !== undefined)
          return `${printSource(before.source)} is not ${printSource(place.source)}`;
        seen.set(value, place);
      }
    }
    return null;
  }
}
