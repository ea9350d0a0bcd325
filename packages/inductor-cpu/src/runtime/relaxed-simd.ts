/**
 * @file Whether this engine has relaxed SIMD (fused multiply-add on vectors).
 */

/** A module with one function: `(drop (f32x4.relaxed_madd (unreachable)))`. */
export const PROBE: readonly number[] = [
  ...[0, 97, 115, 109, 1, 0, 0, 0],
  ...[1, 4, 1, 96, 0, 0],
  ...[3, 2, 1, 0],
  ...[10, 9, 1, 7, 0, 0, 253, 133, 2, 26, 11],
];

let supported: boolean | null = null;

/** Asks the engine to validate a module that uses it. */
export function hasRelaxedSimd(): boolean {
  return (supported ??= WebAssembly.validate(new Uint8Array(PROBE)));
}
