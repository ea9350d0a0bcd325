/**
 * @file Whether code of the program sees gradients of a view.
 */
import type { GradNode } from '@tessera/tensor';

/** Whether it does at the view's node, or at what lies between it and its base's. */
export function isWatchedBefore(node: GradNode, end: GradNode | undefined): boolean {
  for (let at: GradNode | undefined = node; at !== undefined && at !== end;) {
    const { nodePreHooks, nodeHooks, preHooks, retained, nextEdges }: GradNode = at;
    const hooks = [nodePreHooks, nodeHooks, ...(preHooks?.values() ?? [])];
    if (retained !== null || hooks.some((list) => (list?.length ?? 0) > 0)) return true;
    at = nextEdges.length === 1 ? nextEdges[0]?.node : undefined;
  }
  return false;
}
