/**
 * @file Dropping nodes whose results nobody reads, and what each node reads.
 */
import type { Expr } from '../ir/expr.js';
import { postorder } from '../ir/walk.js';
import { type IrNode, nodeOutputs, nodeRoots } from './ir-node.js';
import type { Lowering } from './lowering.js';
import { isEmpty } from './shape-math.js';

export type Load = Extract<Expr, { kind: 'load' }>;

/** What a node's expressions contain. */
interface Contents {
  readonly loads: readonly Load[];
  readonly checks: boolean;
}

const contents = new WeakMap<IrNode, Contents>();

/** Distinct loads in a node's expressions. */
export function nodeLoads(node: IrNode): readonly Load[] {
  return contentsOf(node).loads;
}

/** Whether a node checks values. */
export function nodeChecks(node: IrNode): boolean {
  return contentsOf(node).checks;
}

function contentsOf(node: IrNode): Contents {
  let found = contents.get(node);
  if (found === undefined) {
    found = collect(node);
    contents.set(node, found);
  }
  return found;
}

function collect(node: IrNode): Contents {
  const exprs = postorder(nodeRoots(node));
  return {
    loads: exprs.filter((e): e is Load => e.kind === 'load'),
    checks: exprs.some(({ kind }) => kind === 'check'),
  };
}

/** Names of the buffers that a node reads, or that are made for it to write over. */
export function nodeReads(node: IrNode): Set<string> {
  if (node.kind === 'extern') return new Set(node.reads.map((buffer) => buffer.name));
  const reads = new Set(nodeLoads(node).map((load) => load.buf));
  const before = node.kind === 'pointwise' ? node.out.before : null;
  if (before?.kind === 'computed') reads.add(before.name);
  return reads;
}

/** Whether a reference kernel is called for what it refuses: its results have no elements that anybody could read. */
function onlyRefuses(node: IrNode): boolean {
  return (
    node.kind === 'extern' && node.outs.length > 0 && node.outs.every(({ sizes }) => isEmpty(sizes))
  );
}

/** The nodes whose results reach an output, a mutation or an effect, in order. */
export function pruneUnused(l: Lowering): IrNode[] {
  const needed = new Set<string>();
  const kept: IrNode[] = [];
  for (let i = l.nodes.length - 1; i >= 0; i--) {
    const node = l.nodes[i]!;
    const live =
      (node.kind === 'pointwise' && node.mutation && node.out.kind === 'input') ||
      (node.kind === 'extern' && node.effect !== null) ||
      onlyRefuses(node) ||
      nodeOutputs(node).some((out) => out.output >= 0 || needed.has(out.name));
    if (!live) continue;
    kept.push(node);
    for (const name of nodeReads(node)) needed.add(name);
  }
  return kept.reverse();
}
