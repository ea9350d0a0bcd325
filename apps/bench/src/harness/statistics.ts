/**
 * @file Statistics of samples: medians and quartiles, which a few disturbed samples do not move.
 */

/** What some samples say, in their own unit. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Distance of the quartiles over the median: how much the samples scatter. */
  readonly spread: number;
  readonly samples: number;
}

/** The value that a share `q` of the samples lie below, interpolated. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = Float64Array.from(samples).sort();
  if (sorted.length === 0) return NaN;
  const position = q * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.ceil(position);
  return sorted[below]! + (sorted[above]! - sorted[below]!) * (position - below);
}

/** The middle sample. */
export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** Summarises samples. */
export function summarize(samples: readonly number[]): Summary {
  const middle = median(samples);
  return {
    median: middle,
    min: quantile(samples, 0),
    max: quantile(samples, 1),
    spread: (quantile(samples, 0.75) - quantile(samples, 0.25)) / middle,
    samples: samples.length,
  };
}

/**
 * Ratios of two engines, round by round: the samples of a round lie milliseconds apart, so what slows the
 * machine for a while slows both and drops out.
 */
export function roundRatios(samples: readonly number[], baseline: readonly number[]): number[] {
  const rounds = Math.min(samples.length, baseline.length);
  return Array.from({ length: rounds }, (_, round) => samples[round]! / baseline[round]!);
}
