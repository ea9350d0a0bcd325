/**
 * @file `GuardTree`: checks a list of guards, path by path.
 *
 * Paths share their beginnings, and the tensors that are met on the way are given to who asked for them, so that a
 * call whose guards hold has its inputs already. Where the layout of an object fits (fields.ts), the guards of the
 * object and of its primitive attributes hold.
 */
import { type Key, type SourceStep, follow, readStep } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import { passedBefore } from '../trace/pattern.js';
import type { Guard, Place } from './guard.js';

/** What must hold at one place, and below it. */
interface TreeNode {
  readonly step: SourceStep | null;
  readonly guards: Guard[];
  layout: NonNullable<Guard['parts']['layout']> | null;
  /** The only guard here, of a tensor, with nothing below. */
  leaf: Guard | null;
  /** Number among the tensors that a check gives, or -1. */
  tensor: number;
  /** Attributes that the layout compares. */
  readonly implied: TreeNode[];
  readonly below: TreeNode[];
}

/** See the file header. */
export class GuardTree {
  /** Where each root begins. */
  private readonly roots: TreeNode[] = [];
  private tensorCount = 0;

  constructor(guards: readonly Guard[]) {
    for (const guard of guards) this.add(guard);
  }

  /** The node at a place; made if there is none. */
  private nodeAt({ root, source }: Place): TreeNode {
    let node = (this.roots[root] ??= newNode(null));
    for (const step of source.steps) {
      const of = (other: TreeNode): boolean => sameStep(other.step!, step);
      let next = node.below.find(of) ?? node.implied.find(of);
      if (next === undefined) {
        next = newNode(step);
        const isCompared =
          step.kind === 'property' && node.layout?.of.primitives.includes(step.key) === true;
        (isCompared ? node.implied : node.below).push(next);
        node.leaf = null;
      }
      node = next;
    }
    return node;
  }

  private add(guard: Guard): void {
    const node = this.nodeAt(guard.place);
    node.guards.push(guard);
    node.layout ??= guard.parts.layout ?? null;
    node.leaf = node.guards.length === 1 && guard.kind === 'TENSOR_MATCH' ? guard : null;
  }

  /** A check gives what is at a place; returns its number. */
  ask(place: Place): number {
    const node = this.nodeAt(place);
    if (node.tensor < 0) node.tensor = this.tensorCount++;
    return node.tensor;
  }

  /** What was asked for, by number, if all guards hold; else null. */
  check(roots: readonly unknown[]): (Tensor | undefined)[] | null {
    const found = new Array<Tensor | undefined>(this.tensorCount);
    for (let i = 0; i < this.roots.length; i++) {
      const node = this.roots[i];
      if (node !== undefined && !holdsAt(node, roots[i], roots, found)) return null;
    }
    return found;
  }
}

function newNode(step: SourceStep | null): TreeNode {
  return { step, guards: [], layout: null, leaf: null, tensor: -1, implied: [], below: [] };
}

function sameStep(a: SourceStep, b: SourceStep): boolean {
  return a.kind === b.kind && placeIn(a) === placeIn(b);
}

/** Where a step leads among steps of its kind. */
function placeIn(step: SourceStep): Key | number | undefined {
  if (step.kind === 'property' || step.kind === 'getter') return step.key;
  if (step.kind === 'index' || step.kind === 'map') return step.index;
  return step.kind === 'type' ? step.depth : undefined;
}

/** Whether all guards at a node and below hold for `value`; notes the tensors that are asked for. */
function holdsAt(
  node: TreeNode,
  value: unknown,
  roots: readonly unknown[],
  found: (Tensor | undefined)[],
): boolean {
  const { layout, leaf, below } = node;
  if (node.tensor >= 0) found[node.tensor] = value as Tensor;
  if (leaf !== null) return passes(leaf, value);
  if (layout === null || !layout.of.fits(value, layout.values)) {
    if (!node.guards.every((guard) => holds(guard, value, roots))) return false;
    if (!node.implied.every((at) => holdsAt(at, readStep(value, at.step!), roots, found)))
      return false;
  }
  for (let i = 0; i < below.length; i++) {
    const at = below[i]!;
    const step = at.step!;
    const next =
      step.kind === 'property'
        ? (value as Readonly<Record<Key, unknown>> | null | undefined)?.[step.key]
        : readStep(value, step);
    if (at.leaf === null) {
      if (!holdsAt(at, next, roots, found)) return false;
    } else {
      if (!passes(at.leaf, next)) return false;
      if (at.tensor >= 0) found[at.tensor] = next as Tensor;
    }
  }
  return true;
}

/** Whether a value passes the guard of a tensor: it carries what it passed before, or is looked at. */
function passes({ check, parts: { spec } }: Guard, value: unknown): boolean {
  return (spec !== undefined && passedBefore(spec, value)) || check(value);
}

/** Whether a guard holds for its value. */
export function holds(
  { check, parts: { other } }: Guard,
  value: unknown,
  roots: readonly unknown[],
): boolean {
  return other === undefined ? check(value) : check(value, valueAt(other, roots));
}

/** What is at a place. */
export function valueAt({ root, source }: Place, roots: readonly unknown[]): unknown {
  return follow(roots[root], source.steps);
}

/** The first of some guards that fails, in words; null if all hold. */
export function failure(guards: readonly Guard[], roots: readonly unknown[]): string | null {
  for (const guard of guards) {
    const value = valueAt(guard.place, roots);
    if (!holds(guard, value, roots)) return guard.reason(value);
  }
  return null;
}
