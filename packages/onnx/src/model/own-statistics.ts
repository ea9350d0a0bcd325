/**
 * @file Running statistics with tensors of their own, where an exporter has made one of equal ones.
 *
 * PyTorch writes initialisers of equal values once: of a batch norm that was never trained the mean is the bias, and
 * the variance is the weight, through an `Identity` or by name. Statistics are not trained, weights are, so that those
 * of such a file would have a gradient that those of the model never had, and would move along with their weights in
 * fine-tuning. Here each statistic that is read as something else too becomes an initialiser again.
 */
import { type AttributeValue, type OnnxGraph, type OnnxNode, graphsOf } from './model.js';

/** Which inputs of a batch norm are statistics, by what its exporters call them. */
const STATISTICS = ['running_mean', 'running_var'] as const;
const FIRST = 3;

function isBatchNorm({ type, domain }: OnnxNode): boolean {
  return type === 'BatchNormalization' && domain === '';
}

/** How often each name is read in a graph and the graphs in it: as a statistic, and in all. */
interface Uses {
  readonly statistic: Map<string, number>;
  readonly all: Map<string, number>;
}

function countUses(graph: OnnxGraph, uses: Uses): Uses {
  const count = (of: Map<string, number>, name: string): void =>
    void of.set(name, (of.get(name) ?? 0) + 1);
  for (const node of graph.nodes) {
    node.inputs.forEach((name, i) => {
      count(uses.all, name);
      if (isBatchNorm(node) && i >= FIRST) count(uses.statistic, name);
    });
    for (const inner of graphsOf(node)) countUses(inner, uses);
  }
  for (const { name } of graph.outputs) count(uses.all, name);
  return uses;
}

/** See the file header. */
export function withOwnStatistics(graph: OnnxGraph): OnnxGraph {
  const uses = countUses(graph, { statistic: new Map(), all: new Map() });
  const isOnlyStatistic = (name: string): boolean =>
    uses.statistic.get(name) === uses.all.get(name);
  // What the caller may replace is what the file says it is.
  const given = new Set(graph.inputs.map(({ name }) => name));
  const sources = new Map<string, string>();
  for (const { type, domain, inputs, outputs } of graph.nodes)
    if (type === 'Identity' && domain === '') sources.set(outputs[0]!, inputs[0]!);
  const initializers = new Map(graph.initializers);
  const replaced = new Set<string>();

  /** The name of a tensor of its own for a statistic; its name now if it has one or is computed. */
  const ownName = (name: string, role: string): string => {
    let source = name;
    for (let next = sources.get(source); next !== undefined; next = sources.get(source))
      source = next;
    const literal = graph.initializers.get(source);
    if (literal === undefined || given.has(source)) return name;
    if (source === name && isOnlyStatistic(name)) return name;
    const isFree = source !== name && isOnlyStatistic(name);
    const own = isFree ? name : `${name}.${role}`;
    if (isFree) replaced.add(name);
    initializers.set(own, { ...literal, name: own });
    return own;
  };
  const nodes = graph.nodes.map((node): OnnxNode => {
    if (!isBatchNorm(node)) return node;
    const inputs = node.inputs.map((name, i) =>
      i < FIRST ? name : ownName(name, STATISTICS[i - FIRST]!),
    );
    return { ...node, inputs };
  });
  return {
    ...graph,
    initializers,
    nodes: nodes.filter(({ outputs }) => !replaced.has(outputs[0] ?? '')).map(withInnerStatistics),
  };
}

/** The same for the graphs of a node. */
function withInnerStatistics(node: OnnxNode): OnnxNode {
  if (graphsOf(node).length === 0) return node;
  const attributes = new Map<string, AttributeValue>();
  for (const [name, attribute] of node.attributes)
    attributes.set(
      name,
      attribute.kind === 'graph'
        ? { kind: 'graph', value: withOwnStatistics(attribute.value) }
        : attribute,
    );
  return { ...node, attributes };
}
