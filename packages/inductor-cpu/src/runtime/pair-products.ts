/**
 * @file Whether this machine multiplies pairs of 16-bit integers in one instruction.
 */

/**
 * Asks which processor it is: those of x86 have `pmaddwd`, where ARM takes three instructions for `i32x4.dot_i16x8_s` and
 * products of floats are faster. No interface tells, but the two give different signs to the NaN that an arithmetic
 * instruction makes.
 */
export function hasPairProducts(): boolean {
  const value = new Float32Array([Infinity]);
  value[0]! -= value[0]!;
  return new Int32Array(value.buffer)[0]! < 0;
}
