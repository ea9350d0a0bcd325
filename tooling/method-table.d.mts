/** The source with `methodsOf(…)` written out: of methods of one name the first counts. */
export function writeMethods(text: string, file: string, read: (path: string) => string): string;
