/**
 * @file The packages that a program of the explorer may import.
 */

/** Names without their scope. */
export const PROGRAM_PACKAGES = ['compile', 'nn', 'tensor'] as const;

/** What it may import of them. */
export type ProgramEntry =
  `@tessera/${(typeof PROGRAM_PACKAGES)[number]}` | '@tessera/nn/functional' | '@tessera/nn/optim';
