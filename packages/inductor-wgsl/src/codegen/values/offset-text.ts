/**
 * @file Offsets in generated code.
 */

/** ` + 4u`; nothing for 0. */
export function plus(offset: number): string {
  return offset === 0 ? '' : ` + ${offset}u`;
}
