/**
 * @file How much of a large sweep a test run tries: `pnpm test` a sample that differs from run to run,
 * `TESSERA_FULL_TESTS=1` (`pnpm test:full`) all of it.
 */

/** Whether sweeps are tried as a whole. */
export const fullTests: boolean = process.env['TESSERA_FULL_TESTS'] === '1';

/** Decides what is in a sample. A run is repeated by `TESSERA_SAMPLE_SEED`, which test names tell. */
export const sampleSeed: number = Number(
  process.env['TESSERA_SAMPLE_SEED'] ?? Math.floor(Math.random() * 1000),
);

/** A part of so many groups of a list, another one for each seed; the whole list in a full run. */
export function sampled<T>(items: readonly T[], groups: number): readonly T[] {
  return fullTests ? items : items.filter((_, i) => (i + sampleSeed) % groups === 0);
}

/** What test names say of their sample. */
export const sampleName: string = fullTests ? 'all' : `sample ${sampleSeed}`;
