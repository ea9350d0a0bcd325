/** @file Seeded random numbers for property tests; a failing test prints its seed. */

/** A stream of random integers that depends on the seed only (mulberry32). */
export class RandomSource {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An integer from `lo` to `hi`, both included. */
  integer(lo: number, hi: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    const unit = ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    return lo + Math.floor(unit * (hi - lo + 1));
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)];
  }
}

/** The seed of this run: `TESSERA_TEST_SEED`, or a fixed default so that runs repeat. */
export function testSeed(): number {
  return Number(process.env['TESSERA_TEST_SEED'] ?? 20240607);
}
