/**
 * @file Shape guards of a call: what its symbolic sizes must satisfy, for reports and reasons.
 *
 * Replays check sizes where a tensor is first used (`TensorGuard`). These are the same
 * conditions, named by source: equal sizes first, then ranges.
 */
import { isTensor } from '@tessera/tensor';
import type { IntPattern, SymPattern } from '../trace/int-pattern.js';

/** A tensor argument with symbolic sizes. */
export interface ShapedSource {
  /** Printed source. */
  readonly name: string;
  readonly sizes: readonly IntPattern[];
  read(roots: readonly unknown[]): unknown;
}

interface Place {
  readonly source: ShapedSource;
  readonly dim: number;
}

/** See the file header. */
export class ShapeGuards {
  private readonly bySymbol = new Map<number, { pattern: SymPattern; places: Place[] }>();

  constructor(sources: readonly ShapedSource[]) {
    for (const source of sources) {
      source.sizes.forEach((pattern, dim) => {
        if (typeof pattern === 'number') return;
        const known = this.bySymbol.get(pattern.bind);
        if (known === undefined)
          this.bySymbol.set(pattern.bind, { pattern, places: [{ source, dim }] });
        else known.places.push({ source, dim });
      });
    }
  }

  /** Conditions as they are printed. */
  get lines(): string[] {
    return [...this.bySymbol.values()].flatMap(({ pattern, places }) => [
      ...places.slice(1).map((place) => equality(place, places[0]!)),
      range(pattern, printPlace(places[0]!)),
    ]);
  }

  /** The first condition that fails, printed; null if all hold. */
  reason(roots: readonly unknown[]): string | null {
    for (const { pattern, places } of this.bySymbol.values()) {
      const values = places.map(({ source, dim }) => {
        const tensor = source.read(roots);
        return isTensor(tensor) ? tensor.sizes[dim] : undefined;
      });
      const [first] = values;
      const differs = values.findIndex((value) => value !== first);
      if (differs > 0) return equality(places[differs]!, places[0]!);
      if (first === undefined) continue;
      const name = printPlace(places[0]!);
      if (first < pattern.min || first > pattern.max) return range(pattern, name);
    }
    return null;
  }
}

function printPlace({ source, dim }: Place): string {
  return `${source.name}.size()[${dim}]`;
}

function equality(place: Place, first: Place): string {
  return `${printPlace(place)} == ${printPlace(first)}`;
}

function range({ min, max }: SymPattern, name: string): string {
  return `${min} <= ${name}${max === Infinity ? '' : ` <= ${max}`}`;
}
