/**
 * @file Graphs as the views show them: lines and nodes, each with the line of the program it comes from.
 */
import { type GraphModule, type Node, describeVal } from '@tessera/graph';
import type { CodeLine, GraphNodeView, GraphView } from './exploration.js';
import type { NodeLines } from './node-lines.js';

function labelOf({ op, target }: Node): string {
  if (op !== 'call_function') return op === 'placeholder' ? 'input' : op;
  return typeof target === 'object'
    ? target.qualifiedName.replace('aten::', '')
    : String((target as { name?: string }).name ?? target);
}

/** A printed graph, line by line. */
function linesOf(module: GraphModule): CodeLine[] {
  const names = new Set(module.graph.nodes.map((node) => node.name));
  return module
    .print()
    .split('\n')
    .map((text) => {
      const [, name] = /^\s*const (\w+) =/.exec(text) ?? [];
      return { text, node: name !== undefined && names.has(name) ? name : null };
    });
}

/** A graph with lines and nodes; `lines` says where nodes come from. */
export function graphView(title: string, module: GraphModule, lines: NodeLines): GraphView {
  const nodes = module.graph.nodes.map((node): GraphNodeView => ({
    name: node.name,
    label: labelOf(node),
    value: describeVal(node.meta.val, node.meta.symbolicVal) ?? '',
    inputs: node.allInputNodes().map((input) => input.name),
    line: lines.of(node),
    module: (node.meta.nnModuleStack ?? []).map(({ path }) => path).at(-1) ?? '',
  }));
  return { title, lines: linesOf(module), nodes };
}
