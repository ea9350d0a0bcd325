/**
 * @file What a program of the explorer may import: what runs it has these, and its editor marks all others.
 */

/** In the order in which they are listed. */
export const PROGRAM_ENTRIES = [
  '@tessera/compile',
  '@tessera/nn',
  '@tessera/nn/functional',
  '@tessera/nn/optim',
  '@tessera/tensor',
] as const;

/** What it may import. */
export type ProgramEntry = (typeof PROGRAM_ENTRIES)[number];

/** The packages of these, without their scope. */
export const PROGRAM_PACKAGES: readonly string[] = [
  ...new Set(PROGRAM_ENTRIES.map((entry) => entry.split('/')[1]!)),
];

/** Whether a program may import this. */
export function isProgramEntry(name: string): name is ProgramEntry {
  return (PROGRAM_ENTRIES as readonly string[]).includes(name);
}

/** What a program is told that imports something else. */
export function noSuchEntry(name: string): string {
  return `There is no '${name}' here, only ${PROGRAM_ENTRIES.join(', ')}.`;
}
