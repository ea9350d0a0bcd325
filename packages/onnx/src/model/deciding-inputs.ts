/**
 * @file Inputs that which branch of a model runs, or how often a loop does, depends on.
 */
import type { OnnxGraph, OnnxNode } from './model.js';

/** Inputs of control flow that have to be known before it runs. */
const DECIDING: Readonly<Record<string, readonly number[]>> = { If: [0], Loop: [0, 1] };

function decidedBy(node: OnnxNode): string[] {
  const places = node.domain === '' ? (DECIDING[node.type] ?? []) : [];
  return places.flatMap((i) => node.inputs[i] ?? []);
}

/** Names of inputs that conditions and counts of the outermost graph are made of, maybe with others. */
export function decidingInputs({ inputs, initializers, nodes }: OnnxGraph): Set<string> {
  const given = new Set(inputs.map(({ name }) => name).filter((name) => !initializers.has(name)));
  const makers = new Map(
    nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)),
  );
  const found = new Set<string>();
  for (const condition of nodes.flatMap(decidedBy)) {
    const seen = new Set<string>();
    const stack = [condition];
    for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
      if (name === '' || seen.has(name)) continue;
      seen.add(name);
      stack.push(...(makers.get(name)?.inputs ?? []));
    }
    for (const name of seen) if (given.has(name)) found.add(name);
  }
  return found;
}
