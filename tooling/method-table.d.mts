/** The source with `methodsOf(…)` and `operatorsOf(…)` written out: of methods of one name the first counts. */
export function writeMethods(text: string, file: string, read: (path: string) => string): string;
