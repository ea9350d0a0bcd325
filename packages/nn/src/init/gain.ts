/**
 * @file The option that Xavier's and orthogonal initialisation share.
 */
import type { OptionNames } from '@tessera/shared';

/** Options of `xavierUniform_`, `xavierNormal_` and `orthogonal_`. */
export interface GainOptions {
  /** A factor of the values, as `calculateGain` gives (default 1). */
  readonly gain?: number;
}

/** The names of `GainOptions`. */
export const GAIN: OptionNames<GainOptions> = { gain: true };
