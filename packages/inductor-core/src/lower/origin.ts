/**
 * @file Where expressions come from: the operator that made one, for names of kernels, and the node of the graph, for those
 * who look at what became of it.
 */

/** What was lowered when an expression was made; what the compiler adds itself has no node. */
export interface Origin {
  readonly op: string;
  readonly node: string | null;
}

/** Each operator, or each node, once, in order. */
export function namesOf(origins: readonly Origin[], key: keyof Origin): string[] {
  const names = origins.map((origin) => origin[key]);
  return [...new Set(names)].filter((name) => name !== null);
}
