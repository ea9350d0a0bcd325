/** A program, or a part of one (and what it is a part of), without what its parser skips. */
export function denseProgram(text: string, whole?: string): string;

/** The source with the programs in its template literals dense. */
export function writeDensePrograms(text: string, file: string): string;
