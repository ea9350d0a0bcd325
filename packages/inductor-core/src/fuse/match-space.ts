/**
 * @file Mapping one iteration space onto another.
 *
 * Two nodes can share a kernel if the points of one correspond one to one to points of the other such
 * that what one writes is what the other reads there. The mapping is found by solving the equality of
 * coordinates (a coordinate that is a mixed-radix number of the guest's variables gives them as digits),
 * or by equating row-major order; the caller verifies it.
 */
import { type Size, isMultiple, quotientOf, sizeMul } from '@tessera/shared';
import type { IrBuilder } from '../ir/build.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { divisorOf } from '../ir/index-bounds.js';
import { extent, rowMajor } from '../ir/loop-vars.js';
import { indexSymbols } from '../ir/walk.js';

/** `guest` (over the guest's variables) is the same place as `host` (over the host's). */
export interface Equation {
  readonly guest: IndexExpr;
  readonly host: IndexExpr;
}

/** What each of the guest's variables is in the host's space. */
export type Mapping = Map<string, IndexExpr>;

/** Row-major digits of `flat` over `vars`. */
function digitsOf(ir: IrBuilder, flat: IndexExpr, vars: readonly SizedLoop[]): Mapping {
  const mapping: Mapping = new Map();
  vars.forEach((v, i) => {
    const digit = ir.div(flat, extent(vars.slice(i + 1)));
    mapping.set(v.name, i === 0 ? digit : ir.mod(digit, v.size));
  });
  return mapping;
}

/** The mapping that keeps row-major order. */
export function linearMapping(
  ir: IrBuilder,
  guest: readonly SizedLoop[],
  host: readonly SizedLoop[],
): Mapping | null {
  return extent(guest) === extent(host) ? digitsOf(ir, rowMajor(ir, host), guest) : null;
}

/** Solves coordinate equations for the guest's variables; what they leave open follows in order. */
export function solvedMapping(
  ir: IrBuilder,
  guest: readonly SizedLoop[],
  host: readonly SizedLoop[],
  equations: readonly Equation[],
): Mapping | null {
  const sizes = new Map(guest.map((v) => [v.name, v.size]));
  const mapping: Mapping = new Map();
  for (const equation of equations) {
    if (mapping.size === guest.length) break;
    solveOne(ir, sizes, mapping, equation);
  }
  const open = guest.filter((v) => !mapping.has(v.name));
  if (open.length > 0) {
    const used = new Set<string>();
    for (const index of mapping.values()) indexSymbols(index, used);
    const free = host.filter((v) => !used.has(v.name));
    if (extent(open) !== extent(free)) return null;
    for (const [name, index] of digitsOf(ir, rowMajor(ir, free), open)) mapping.set(name, index);
  }
  return isBijection(ir, guest, host, mapping) ? mapping : null;
}

/** Reads variables off one equation if its guest side is a mixed-radix number of new variables. */
function solveOne(
  ir: IrBuilder,
  sizes: ReadonlyMap<string, Size>,
  mapping: Mapping,
  { guest, host }: Equation,
): void {
  const { constant, terms } = ir.linear(guest);
  if (constant !== 0 || terms.size === 0) return;
  const found: { readonly name: string; readonly size: Size; readonly unit: Size }[] = [];
  for (const [atom, unit] of terms) {
    if (atom.kind !== 'sym' || mapping.has(atom.name)) return;
    const size = sizes.get(atom.name);
    if (size === undefined) return;
    found.push({ name: atom.name, size, unit });
  }
  const limit = spanOf(found);
  if (limit === null || !ir.isWithin(host, limit)) return;
  for (const { name, size, unit: below } of found)
    mapping.set(name, ir.mod(ir.div(host, below), size));
}

interface Digit {
  readonly unit: Size;
  readonly size: Size;
}

/** How many numbers the digits make up; null if they leave some out or make some twice. */
function spanOf(digits: readonly Digit[]): Size | null {
  const left = new Set(digits);
  let unit: Size = 1;
  while (left.size > 0) {
    const next = [...left].find((digit) => digit.unit === unit);
    if (next === undefined) return null;
    left.delete(next);
    unit = sizeMul(unit, next.size);
  }
  return unit;
}

/** Whether the mapping takes the host's points one to one onto the guest's. */
export function isBijection(
  ir: IrBuilder,
  guest: readonly SizedLoop[],
  host: readonly SizedLoop[],
  mapping: Mapping,
): boolean {
  if (extent(guest) !== extent(host)) return false;
  const sizes = new Map(host.map((v) => [v.name, v.size]));
  const digits = new Map<string, Digit[]>();
  for (const v of guest) {
    const parts = readDigits(ir, mapping.get(v.name)!, v.size, sizes);
    if (parts === null) return false;
    for (const { name, digit } of parts) {
      const list = digits.get(name) ?? [];
      list.push(digit);
      digits.set(name, list);
    }
  }
  // Every host variable must be covered by its digits exactly once.
  return host.every((v) => spanOf(digits.get(v.name) ?? []) === v.size);
}

/** An index as a mixed-radix number of digits of host variables that covers [0, size). */
function readDigits(
  ir: IrBuilder,
  index: IndexExpr,
  size: Size,
  host: ReadonlyMap<string, Size>,
): { readonly name: string; readonly digit: Digit }[] | null {
  const { constant, terms } = ir.linear(index);
  if (constant !== 0) return null;
  const parts: { readonly name: string; readonly digit: Digit; readonly weight: Size }[] = [];
  for (const [atom, weight] of terms) {
    const part = readDigit(atom, host);
    if (part === null) return null;
    parts.push({ ...part, weight });
  }
  const span = spanOf(parts.map(({ digit, weight }) => ({ unit: weight, size: digit.size })));
  return span === size ? parts : null;
}

/** `x`, `x div a`, `x mod b` or `(x div a) mod b`. */
function readDigit(
  atom: IndexExpr,
  host: ReadonlyMap<string, Size>,
): { readonly name: string; readonly digit: Digit } | null {
  let inner = atom;
  let modulus: Size | null = null;
  if (inner.kind === 'mod') {
    modulus = divisorOf(inner.den);
    if (modulus === null) return null;
    inner = inner.num;
  }
  let unit: Size | null = 1;
  if (inner.kind === 'div') {
    unit = divisorOf(inner.den);
    if (unit === null) return null;
    inner = inner.num;
  }
  const size = inner.kind === 'sym' ? host.get(inner.name) : undefined;
  const count = size === undefined ? null : quotientOf(size, unit);
  if (inner.kind !== 'sym' || count === null) return null;
  const span = modulus ?? count;
  return isMultiple(count, span) ? { name: inner.name, digit: { unit, size: span } } : null;
}
