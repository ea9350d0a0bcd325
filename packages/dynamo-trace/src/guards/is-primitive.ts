/**
 * @file What is compared itself instead of being followed.
 */

/** Whether a value is no object: it is compared itself. */
export function isPrimitive(value: unknown): boolean {
  return (typeof value !== 'object' || value === null) && typeof value !== 'function';
}
