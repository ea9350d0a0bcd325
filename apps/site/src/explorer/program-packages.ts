/**
 * @file The packages that a program of the explorer may import.
 */

/** Names without their scope. */
export const PROGRAM_PACKAGES = ['compile', 'nn', 'tensor'] as const;
