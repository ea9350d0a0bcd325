/**
 * @file Names of the tensors of a call: which argument, capture or owner attribute each one is.
 */
import { type Source, printSource } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import { runningModules } from '@tessera/tensor/internal';
import type { Root } from './entry-guards.js';
import type { Place } from './guard.js';
import { walk } from './walk.js';

/** Root of what no argument or capture holds. */
const NO_ROOT = -1;

/** See the file header. */
export class Sources {
  /** Tensors that roots hold, at each of their places. */
  readonly tensors: { readonly tensor: Tensor; readonly place: Place }[] = [];
  private readonly primitives: (Place & { readonly value: unknown })[] = [];
  private readonly first = new Map<Tensor, Place>();
  private readonly numbers = new Map<number, string>();
  private readonly added = new Set<object>();

  /** @param getters as for `walk` */
  constructor(
    readonly roots: readonly Root[],
    getters = false,
  ) {
    roots.forEach(({ name, value }, root) => this.add(value, root, name, getters));
  }

  private add(value: unknown, root: number, name: string, getters: boolean): void {
    const tensor = (found: Tensor, source: Source): void => {
      const place = { root, source };
      if (!this.first.has(found)) this.first.set(found, place);
      if (root !== NO_ROOT) this.tensors.push({ tensor: found, place });
    };
    const primitive = (found: unknown, source: Source): void => {
      if (root === NO_ROOT) return;
      this.primitives.push({ root, source, value: found });
      if (typeof found === 'number' && !this.numbers.has(found))
        this.numbers.set(found, printSource(source));
    };
    walk(value, { root: name, steps: [] }, { tensor, primitive }, getters);
  }

  /** Adds the tensors of an object that is no argument: a module that runs, the owner of a region. */
  addObject(object: object): void {
    if (this.added.has(object)) return;
    this.added.add(object);
    this.add(object, NO_ROOT, `G['${object.constructor.name}']`, false);
  }

  /** Where a tensor is that is reachable from the roots. */
  locate(tensor: Tensor): Place | null {
    const place = this.first.get(tensor);
    return place === undefined || place.root === NO_ROOT ? null : place;
  }

  /** Whether an argument holds the tensor other than as an attribute of a tracked object (a parameter). */
  isArgument(tensor: Tensor): boolean {
    const place = this.locate(tensor);
    return place !== null && !isOfTracked(place.source);
  }

  /** Primitives that arguments hold, other than attributes of tracked objects. */
  constants(): readonly (Place & { readonly value: unknown })[] {
    return this.primitives.filter(({ source }) => !isOfTracked(source));
  }

  /** Printed source; what is in no argument is looked for in the modules that run, or is `G['tensor']`. */
  nameOf(tensor: Tensor): string {
    if (!this.first.has(tensor)) for (const module of runningModules) this.addObject(module);
    const place = this.first.get(tensor);
    return place === undefined ? "G['tensor']" : printSource(place.source);
  }

  /** Printed source of a number that an argument holds, if any. */
  nameOfNumber(value: number): string | null {
    return this.numbers.get(value) ?? null;
  }
}

/** Whether a source goes through an attribute of a tracked object. */
export function isOfTracked({ steps }: Source): boolean {
  return steps.some((step) => step.kind === 'property' && step.tracked);
}

/** A valid identifier from a printed source: `L['x']` → `l_x`. */
export function identifierOf(source: string): string {
  return source
    .replace(
      /^([LG])\['(\w+)'\]/,
      (_, scope: string, name: string) => `${scope.toLowerCase()}_${name}`,
    )
    .replace(/\W+/g, '_')
    .replace(/_+$/, '');
}
