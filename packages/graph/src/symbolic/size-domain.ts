/**
 * @file `SizeDomain`: the values of one symbol for which a program was seen to do the same.
 *
 * Found by running it with one size varied at a time: a range around the example, every how many
 * values, and single values inside that are excluded.
 */
import { gcd } from '@tessera/shared';

/** See the file header. */
export interface SizeDomain {
  readonly min: number;
  readonly max: number;
  /** Allowed values differ by multiples of this from the example. */
  readonly step: number;
  readonly holes: readonly number[];
}

/** Sizes that make differences show: neighbours, powers of two, primes, multiples. */
const SWEPT = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 18, 24, 32, 36, 48, 64, 96, 128];
const SPREAD = [0, 1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29];
/** Largest number of domain members looked at one by one. */
const LISTED = 64;

/** The values of one symbol to try while the others stay. */
export function sweepOf(
  hint: number,
  min: number,
  max: number,
  suspects: readonly number[],
): number[] {
  const near = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((d) => [hint - d, hint + d]);
  const multiples = [2, 3, 4, 5].map((k) => k * hint);
  const around = suspects.flatMap((n) => [n - 1, n, n + 1]);
  const all = [...near, ...multiples, hint / 2, ...SWEPT, ...around];
  return [...new Set(all)]
    .filter((v) => Number.isInteger(v) && v >= min && v <= max && v !== hint)
    .sort((a, b) => a - b);
}

/** The domain that explains which values of a sweep did the same; null when only the example does. */
export function domainOf(
  hint: number,
  min: number,
  max: number,
  suspects: readonly number[],
  same: (value: number) => boolean,
): SizeDomain | null {
  const swept = sweepOf(hint, min, max, suspects);
  const good = swept.filter(same);
  if (good.length === 0) return null;
  const step = good.reduce((divisor, value) => gcd(divisor, Math.abs(value - hint)), 0);
  // A class of one residue may be met too rarely in a general sweep.
  const extra = SPREAD.flatMap((m) => [hint + m * step, hint - m * step]).filter(
    (v) => v >= min && v <= max && v !== hint && !swept.includes(v),
  );
  const all = step > 1 ? [...new Set([...swept, ...extra])].sort((a, b) => a - b) : swept;
  const inClass = all.filter((value) => (value - hint) % step === 0);
  const ok = new Set(step > 1 ? inClass.filter(same) : good);
  const bad = inClass.filter((value) => !ok.has(value));
  const works = (value: number): boolean => value === hint || ok.has(value);
  const isHole = (value: number): boolean => works(value - step) && works(value + step);
  const below = bad.findLast((value) => value < hint && !isHole(value));
  const above = bad.find((value) => value > hint && !isHole(value));
  // The smallest value of the class, or the last one that does.
  const least = min + ((((hint - min) % step) + step) % step);
  const known = [...ok, hint].sort((a, b) => a - b);
  const low =
    below === undefined
      ? least
      : edge(
          below,
          known.find((value) => value > below)!,
          step,
          same,
        );
  const high =
    above === undefined
      ? max
      : edge(
          above,
          known.findLast((value) => value < above)!,
          step,
          same,
        );
  const holes = bad.filter((value) => value > low && value < high);
  return { min: low, max: high, step, holes };
}

/** The last value from one that does the same towards `bad` that does it too: by bisection. */
function edge(bad: number, good: number, step: number, same: (value: number) => boolean): number {
  let outside = bad;
  let inside = good;
  while (Math.abs(outside - inside) > step) {
    const middle = inside + Math.trunc((outside - inside) / step / 2) * step;
    if (same(middle)) inside = middle;
    else outside = middle;
  }
  return inside;
}

/** Whether a value is in the domain. */
export function inDomain(domain: SizeDomain, hint: number, value: number): boolean {
  return (
    value >= domain.min &&
    value <= domain.max &&
    (value - hint) % domain.step === 0 &&
    !domain.holes.includes(value)
  );
}

/** Values of the domain for joint runs: small ones, large ones, odd and even ones. */
export function membersOf(domain: SizeDomain, hint: number): number[] {
  const { step } = domain;
  const residue = ((hint % step) + step) % step;
  const start = domain.min + ((((residue - domain.min) % step) + step) % step);
  const count = domain.max === Infinity ? Infinity : Math.floor((domain.max - start) / step) + 1;
  const indices =
    count <= LISTED / 4
      ? Array.from({ length: count }, (_, i) => i)
      : SPREAD.map((m) => (m < count ? m : m % count));
  const members = indices.map((m) => start + m * step);
  if (count !== Infinity && count > LISTED / 4) members.push(start + (count - 1) * step);
  return [...new Set(members)].filter((value) => inDomain(domain, hint, value));
}

/** The nearest allowed value. */
export function nearestIn(domain: SizeDomain, hint: number, value: number): number {
  const clamped = Math.min(Math.max(value, domain.min), domain.max);
  let near = hint + Math.round((clamped - hint) / domain.step) * domain.step;
  if (near > domain.max) near -= domain.step;
  if (near < domain.min) near += domain.step;
  return inDomain(domain, hint, near) ? near : hint;
}
