/**
 * @file Which containers of a call are the same object, and which are not.
 *
 * A function that does not run again may have compared objects: two that were one must stay one, and of a
 * class those that were two must stay two. Tracked objects without tensors of their own are not told apart.
 */
import { type Source, follow, printSource } from '@tessera/graph';

/** Where an object was found. */
interface Place {
  readonly root: number;
  readonly source: Source;
}

/** See the file header. */
export class ObjectIdentities {
  private first: Map<object, Place> | null = new Map();
  private readonly same: (readonly [Place, Place])[] = [];
  /** Places of different objects, by class. */
  private readonly byType = new Map<unknown, Place[]>();
  private different: readonly (readonly Place[])[] = [];

  /** Notes an object; `told`: whether it must differ from others of its class. */
  add(value: object, place: Place, told: boolean): void {
    const known = this.first?.get(value);
    if (known !== undefined) {
      // In one root, a guard of that root says it.
      if (known.root !== place.root) this.same.push([known, place]);
      return;
    }
    this.first?.set(value, place);
    if (!told) return;
    const type: unknown = Object.getPrototypeOf(value);
    const places = this.byType.get(type);
    if (places === undefined) this.byType.set(type, [place]);
    else places.push(place);
  }

  /** All objects are noted, and are not held any longer. */
  seal(): this {
    this.different = [...this.byType.values()].filter(({ length }) => length > 1);
    this.byType.clear();
    this.first = null;
    return this;
  }

  /** Whether all is as it was. */
  check(roots: readonly unknown[]): boolean {
    return this.reason(roots) === null;
  }

  /** The first difference, in words; null if there is none. */
  reason(roots: readonly unknown[]): string | null {
    const at = ({ root, source }: Place): unknown => follow(roots[root], source.steps);
    for (const [a, b] of this.same)
      if (at(a) !== at(b)) return `${printSource(a.source)} is ${printSource(b.source)}`;
    for (const places of this.different) {
      const seen = new Map<unknown, Place>();
      for (const place of places) {
        const value = at(place);
        const before = seen.get(value);
        if (before !== undefined)
          return `${printSource(before.source)} is not ${printSource(place.source)}`;
        seen.set(value, place);
      }
    }
    return null;
  }
}
