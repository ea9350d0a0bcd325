/**
 * @file What a schedule may know of the machine that it is made for.
 *
 * A target is described by facts, not by name: where two targets need different code, a fact says why.
 */

/** See the file header. */
export interface TargetDescription {
  /** The widest float that the target computes in: what partial sums of float32 may be kept in. */
  readonly widestFloat: 'float32' | 'float64';
  /** How int64 is computed; in 32 bits, -2³¹ stands for a number that was lost. */
  readonly int64: 'native' | 'i32';
  /**
   * Whether a maximum that propagates NaN costs more than a plain one and a register that remembers NaN. A plain one,
   * `where(a < b, b, a)`, is then a single operation.
   */
  readonly separateNan: boolean;
  /** Whether comparisons with NaN are false; else compilers of the target's code may assume that there is no NaN. */
  readonly comparesNan: boolean;
  /** Whether work that no lane needs is skipped for the price of a test: lanes of a vector, not threads. */
  readonly skipsIdleLanes: boolean;
}

/** The machine of the reference interpreter: exact, and with nothing to gain from any trick. */
export const REFERENCE_TARGET: TargetDescription = {
  widestFloat: 'float64',
  int64: 'native',
  separateNan: false,
  comparesNan: true,
  skipsIdleLanes: false,
};
