/** The fenced blocks of a document, in order; `words` are its language and what stands behind it. */
export function blocksOf(text: string): { words: string; code: string }[];

/** The comments of a program that promise what its `console.log` prints, with their lines, from 0. */
export function promisesOf(program: string): { line: number; comment: string }[];

/** Text without the spaces that `console.log` puts inside brackets. */
export function bare(text: string): string;
