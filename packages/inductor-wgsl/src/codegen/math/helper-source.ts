/**
 * @file The form of the WGSL library functions that generated kernels call.
 *
 * A function is written once for one value and for four: in its text `F`, `I`, `U` and `B` stand for
 * f32, i32, u32 and bool or their vectors of four, `@name` for a library function of the same width.
 * Control flow must not depend on one lane; a function
 * that needs that is written for one value and marked `lanewise`, and its vector form calls it four
 * times.
 */

/** One library function. */
export interface HelperSource {
  /** Type in its name: `exp_f32` and `exp_vec4f`. */
  readonly type: 'f32' | 'i32' | 'u32';
  /** Module-scope declarations, emitted once before the function. */
  readonly module?: string;
  readonly text: string;
  readonly lanewise?: boolean;
}

/** Library functions by name. */
export type HelperTable = Readonly<Record<string, HelperSource>>;
