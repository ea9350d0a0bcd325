/** The text without comments; lines stay where they are. */
export function withoutComments(text: string, path: string): string;
