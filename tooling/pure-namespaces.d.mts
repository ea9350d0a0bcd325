/** The text of a built file whose namespaces are constants. */
export function pureNamespaces(code: string): string;
