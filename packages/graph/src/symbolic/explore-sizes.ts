/**
 * @file `exploreSizes`: runs a program at many sizes to find out for which it does the same.
 *
 * Numbers in JavaScript do not say that they came from a size, so what a program does with its sizes is
 * found by running it: at the example first, then at joint assignments of all symbols. Where one of these
 * fails or takes another path, each symbol is swept alone, which gives a range, a divisor, excluded
 * values, or that the program works at the example's size only.
 */
import { isTesseraError, gcd } from '@tessera/shared';
import { type SizeDomain, domainOf, inDomain, membersOf, nearestIn } from './size-domain.js';

/** A size that may vary. */
export interface SizeRequest {
  readonly hint: number;
  readonly min: number;
  readonly max: number;
  /** Where it is read: `L['x'].size()[0]`. */
  readonly source: string;
}

/** A run at some sizes. */
export interface SizeRun<T> {
  readonly sizes: readonly number[];
  readonly result: T;
}

/** Why a run counts as another program. */
export interface Refusal {
  readonly sizes: readonly number[];
  readonly why: string;
}

/** What was found. */
export interface Exploration<T> {
  /** Runs that did the same, that of the example first. */
  readonly runs: readonly SizeRun<T>[];
  /** Per size: the values that do; null where it must be that of the example. */
  readonly domains: readonly (SizeDomain | null)[];
  /** Per size: the first run that did not, when it was varied alone. */
  readonly refusals: readonly (Refusal | null)[];
  /** A joint run inside all domains that did not: sizes depend on each other. */
  readonly joint: Refusal | null;
}

/** Sizes at which programs branch when no text says where. */
const SMALL = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32, 64, 128];
const FIRST_RUNS = 8;
const RUNS_PER_SIZE = 2;
const MOST_RUNS = 16;

/** See the file header. */
export class SizeExplorer<T> {
  private readonly outcomes = new Map<string, SizeRun<T> | Refusal>();
  private readonly example: SizeRun<T>;
  private readonly suspects: readonly number[];

  /**
   * @param run runs the program at sizes; what it throws there is a refusal
   * @param difference in which way two runs are not the same program; null if in none
   * @param suspects numbers at which a program may branch
   */
  constructor(
    private readonly requests: readonly SizeRequest[],
    private readonly run: (sizes: readonly number[]) => T,
    private readonly difference: (example: T, other: T) => string | null,
    suspects: (example: T) => readonly number[],
  ) {
    const hints = this.hints;
    this.example = { sizes: hints, result: run(hints) };
    this.outcomes.set(hints.join(), this.example);
    this.suspects = suspects(this.example.result);
  }

  private get hints(): number[] {
    return this.requests.map(({ hint }) => hint);
  }

  /** Explores; sizes in `fixed` stay those of the example. */
  explore(fixed: ReadonlySet<number> = new Set()): Exploration<T> {
    const whole = this.requests.map(({ min, max, hint }, i): SizeDomain | null =>
      fixed.has(i) ? null : min > max || hint < min ? null : { min, max, step: 1, holes: [] },
    );
    let domains = whole;
    const refusals: (Refusal | null)[] = this.requests.map(() => null);
    let joint = this.firstRefusal(domains);
    if (joint !== null) {
      domains = whole.map((domain, i) => (domain === null ? null : this.sweep(i, refusals)));
      joint = this.firstRefusal(domains);
    }
    const runs = this.assignments(domains).flatMap((sizes) => {
      const outcome = this.outcome(sizes);
      return 'result' in outcome ? [outcome] : [];
    });
    return { runs: [this.example, ...runs], domains, refusals, joint };
  }

  /** How a run at these sizes went. */
  outcome(sizes: readonly number[]): SizeRun<T> | Refusal {
    const key = sizes.join();
    let outcome = this.outcomes.get(key);
    if (outcome === undefined) this.outcomes.set(key, (outcome = this.attempt(sizes)));
    return outcome;
  }

  private attempt(sizes: readonly number[]): SizeRun<T> | Refusal {
    let result: T;
    try {
      result = this.run(sizes);
    } catch (error) {
      // Programs may throw what they like at sizes they do not take.
      const why = error instanceof Error ? error.message : String(error);
      return { sizes, why: isTesseraError(error) ? why : `it throws: ${why}` };
    }
    const why = this.difference(this.example.result, result);
    return why === null ? { sizes, result } : { sizes, why };
  }

  private sweep(i: number, refusals: (Refusal | null)[]): SizeDomain | null {
    const { hint, min, max } = this.requests[i];
    return domainOf(hint, min, max, this.suspects, (value) => {
      const outcome = this.outcome(this.hints.with(i, value));
      if ('result' in outcome) return true;
      refusals[i] ??= outcome;
      return false;
    });
  }

  private firstRefusal(domains: readonly (SizeDomain | null)[]): Refusal | null {
    for (const sizes of this.assignments(domains)) {
      const outcome = this.outcome(sizes);
      if ('why' in outcome) return outcome;
    }
    return null;
  }

  /** Joint assignments: generic ones, all sizes alike, and those around suspects. */
  private assignments(domains: readonly (SizeDomain | null)[]): number[][] {
    const { hints } = this;
    const free = domains.flatMap((domain, i) => (domain === null ? [] : [{ domain, i }]));
    if (free.length === 0) return [];
    const members = free.map(({ domain, i }) => membersOf(domain, hints[i]));
    const count = Math.min(MOST_RUNS, FIRST_RUNS + RUNS_PER_SIZE * free.length);
    const assign = (valueOf: (k: number) => number): number[] => {
      const sizes = [...hints];
      free.forEach(({ i }, k) => (sizes[i] = valueOf(k)));
      return sizes;
    };
    const generic = Array.from({ length: count }, (_, run) =>
      assign((k) => {
        const list = members[k];
        if (list.length === 0) return hints[free[k].i];
        // Different strides through the lists keep the sizes independent of each other.
        return list[(run * strideThrough(list.length, k) + k) % list.length];
      }),
    );
    const alike = [...SMALL, ...this.suspects.flatMap((n) => [n - 1, n, n + 1])].map((n) =>
      assign((k) => nearestIn(free[k].domain, hints[free[k].i], n)),
    );
    const seen = new Set([hints.join()]);
    return [...generic, ...alike].filter((sizes) => {
      const inside = free.every(({ domain, i }) => inDomain(domain, hints[i], sizes[i]));
      return inside && !seen.has(sizes.join()) && seen.add(sizes.join());
    });
  }
}

/** A step through a list of a length that meets all of it; another one for each size. */
function strideThrough(length: number, k: number): number {
  let stride = 2 * k + 1;
  while (gcd(stride, length) !== 1) stride++;
  return stride;
}

/** Numbers in a function's text: where it may branch on a size. */
export function numbersIn(fn: { toString(): string }): number[] {
  const found = fn.toString().match(/\b\d{1,7}\b/g) ?? [];
  return [...new Set(found.map(Number))].filter((n) => n > 1).slice(0, 12);
}
