/**
 * @file Shape guards of a call: what its symbolic sizes must satisfy, for reports and reasons.
 *
 * Replays check sizes where a tensor is first used (`TensorGuard`). These are the same
 * conditions, named by source: equal sizes first, then ranges.
 */
import { printSource } from '@tessera/graph';
import { isTensor } from '@tessera/tensor';
import type { SymPattern } from '../trace/int-pattern.js';
import { Guard, type Place } from './guard.js';
import type { TensorGuard } from './tensor-guard.js';

/** A symbolic size of an argument. */
interface SizeAt {
  readonly place: Place;
  readonly dim: number;
  readonly pattern: SymPattern;
}

/** The guards of arguments with symbolic sizes. */
export function shapeGuards(
  arguments_: readonly { readonly place: Place; readonly guard: TensorGuard }[],
): Guard[] {
  const bySymbol = new Map<number, SizeAt[]>();
  for (const { place, guard } of arguments_)
    guard.sizes.forEach((pattern, dim) => {
      if (typeof pattern === 'number') return;
      const known = bySymbol.get(pattern.bind);
      if (known === undefined) bySymbol.set(pattern.bind, [{ place, dim, pattern }]);
      else known.push({ place, dim, pattern });
    });
  return [...bySymbol.values()].flatMap(([first, ...others]) => [
    ...others.map((other) => equalSizes(other, first!)),
    sizeRange(first!),
  ]);
}

function equalSizes({ place, dim }: SizeAt, first: SizeAt): Guard {
  return new Guard(
    'SHAPE_ENV',
    place,
    (name) => `${printSize(name, dim)} == ${printSize(printSource(first.place.source), first.dim)}`,
    (now, other) => sizeOf(now, dim) === sizeOf(other, first.dim),
    { other: first.place },
  );
}

function sizeRange({ place, dim, pattern: { min, max } }: SizeAt): Guard {
  return new Guard(
    'SHAPE_ENV',
    place,
    (name) => `${min} <= ${printSize(name, dim)}${max === Infinity ? '' : ` <= ${max}`}`,
    (now) => {
      const size = sizeOf(now, dim);
      return size === undefined || (size >= min && size <= max);
    },
  );
}

function sizeOf(value: unknown, dim: number): number | undefined {
  return isTensor(value) ? value.sizes[dim] : undefined;
}

function printSize(name: string, dim: number): string {
  return `${name}.size()[${dim}]`;
}
