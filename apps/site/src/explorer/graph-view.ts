/**
 * @file Graphs as the views show them: lines and nodes, each with the line of the program it comes from.
 */
import { type GraphModule, type Node, describeVal } from '@tessera/graph';
import type { CodeLine, GraphNodeView, GraphView } from './exploration.js';
import { programLine } from './run-program.js';

function labelOf({ op, target }: Node): string {
  if (op !== 'call_function') return op === 'placeholder' ? 'input' : op;
  return typeof target === 'object'
    ? target.qualifiedName.replace('aten::', '')
    : String((target as { name?: string }).name ?? target);
}

/** The line behind a sequence number: a backward node comes from the line of its forward node. */
export type SequenceLines = ReadonlyMap<number, number>;

function lineOf(node: Node, lines: SequenceLines): number | null {
  const own = programLine(node.meta.stackTrace);
  if (own !== null) return own;
  const { seqNr } = node.meta;
  return seqNr === undefined ? null : (lines.get(seqNr) ?? null);
}

/** Lines of nodes that have both a line and a sequence number. */
export function sequenceLines(modules: readonly GraphModule[]): SequenceLines {
  const lines = new Map<number, number>();
  for (const { graph } of modules)
    for (const { meta } of graph.nodes) {
      const line = programLine(meta.stackTrace);
      if (line !== null && meta.seqNr !== undefined) lines.set(meta.seqNr, line);
    }
  return lines;
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

/** See the file header. */
export function graphView(title: string, module: GraphModule, lines: SequenceLines): GraphView {
  const nodes = module.graph.nodes.map((node): GraphNodeView => ({
    name: node.name,
    label: labelOf(node),
    value: describeVal(node.meta.val, node.meta.symbolicVal) ?? '',
    inputs: node.allInputNodes().map((input) => input.name),
    line: lineOf(node, lines),
    module: (node.meta.nnModuleStack ?? []).map(({ path }) => path).at(-1) ?? '',
  }));
  return { title, lines: linesOf(module), nodes };
}
