/**
 * @file Sources: where a value came from, as a path that can be printed and followed again.
 *
 * `L['x']`, `L['xs'][2]`, `L['cfg'].heads`, `L['self'].layers[0].weight`; `G['Sequential']…` stands for
 * an object that the function closes over.
 */

import { type Tensor, gradientOf } from '@tessera/tensor';
import { type Key, readGetter } from './followed-keys.js';

/** One step from a container to an element. */
export type SourceStep =
  /** `tracked`: of a tracked object. */
  | { readonly kind: 'property'; readonly key: Key; readonly tracked?: boolean }
  /** What a getter that is no enumerable property gives. */
  | { readonly kind: 'getter'; readonly key: Key }
  | { readonly kind: 'index'; readonly index: number }
  /** Key of a Map, by position of insertion. */
  | { readonly kind: 'map'; readonly index: number; readonly key: unknown }
  /** Element of a Set, by position of insertion. */
  | { readonly kind: 'item'; readonly index: number }
  /** Result of the object's own `[trackedState]()`. */
  | { readonly kind: 'state' }
  /** `.grad` of a tensor. */
  | { readonly kind: 'grad' };

/** A root (argument number, capture name or owner object) and steps from it. */
export interface Source {
  /** Printed form of the root: `L['x']`. */
  readonly root: string;
  readonly steps: readonly SourceStep[];
}

/** A source one step further. */
export function extend(source: Source, step: SourceStep): Source {
  return { root: source.root, steps: [...source.steps, step] };
}

/** Printed form. */
export function printSource(source: Source): string {
  let text = source.root;
  for (const step of source.steps) {
    if (step.kind === 'index') text += `[${step.index}]`;
    else if (step.kind === 'item') text = `list(${text})[${step.index}]`;
    else if (step.kind === 'map')
      text += `.get(${typeof step.key === 'string' ? `'${step.key}'` : String(step.key)})`;
    else if (step.kind === 'grad') text += '.grad';
    else if (step.kind === 'property' || step.kind === 'getter') text += printKey(step.key);
  }
  return text;
}

function printKey(key: Key): string {
  if (typeof key === 'symbol') return `[${String(key)}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `['${key}']`;
}

/** Follows steps from an object; undefined where the path no longer exists. */
export function follow(root: unknown, steps: readonly SourceStep[]): unknown {
  let value = root;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = stepInto(value, step);
  }
  return value;
}

function stepInto(value: object, step: SourceStep): unknown {
  switch (step.kind) {
    case 'property':
      return (value as Record<Key, unknown>)[step.key];
    case 'getter':
      return readGetter(value, step.key);
    case 'index':
      return (value as readonly unknown[])[step.index];
    case 'item':
      return value instanceof Set ? [...(value as Set<unknown>)][step.index] : undefined;
    case 'map':
      return (value as Map<unknown, unknown>).get(step.key);
    case 'grad':
      return gradientOf(value as Tensor);
    case 'state':
      return (value as Record<symbol, () => unknown>)[Symbol.for('tessera.trackedState')]!();
  }
}
