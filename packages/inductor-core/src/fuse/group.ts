/**
 * @file Groups: sets of nodes that become one kernel.
 *
 * All members of a loop group live in the group's loop variables: `place` says what each of a node's
 * own variables is there. A member runs once per outer point or for every inner point.
 */
import type { IrBuilder } from '../ir/build.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import type {
  AttentionNode,
  RecurrenceNode,
  ExternNode,
  IrNode,
  MatmulNode,
  PointwiseNode,
  ReductionNode,
} from '../lower/ir-node.js';
import { nodeOutputs } from '../lower/ir-node.js';

/** A node inside a group. */
export interface Member {
  readonly node: PointwiseNode | ReductionNode;
  /** Each variable of the node as an index over the group's variables. */
  readonly place: ReadonlyMap<string, IndexExpr>;
  /** Whether it runs at every inner point. Reductions always do. */
  readonly inner: boolean;
}

interface GroupBase {
  /** Smallest id of a node inside; groups are known by it. */
  readonly id: number;
  readonly nodes: readonly IrNode[];
}

/** Pointwise and reduction nodes over one iteration space. */
export interface LoopGroup extends GroupBase {
  readonly kind: 'loop';
  readonly outer: readonly SizedLoop[];
  readonly inner: readonly SizedLoop[];
  /** Outer and inner variables in the order of the tensors' dimensions. */
  readonly order: readonly SizedLoop[];
  readonly members: readonly Member[];
}

/** A matrix product with producers folded into its operands and consumers into its stores. */
export interface MatmulGroup extends GroupBase {
  readonly kind: 'matmul';
  readonly matmul: MatmulNode;
  readonly prologue: readonly PointwiseNode[];
  readonly epilogue: readonly Member[];
}

/** Attention, alone. */
export interface AttentionGroup extends GroupBase {
  readonly kind: 'attention';
  readonly attention: AttentionNode;
}

/** A recurrence, alone. */
export interface RecurrenceGroup extends GroupBase {
  readonly kind: 'recurrence';
  readonly recurrence: RecurrenceNode;
}

/** A call of a reference kernel, alone. */
export interface ExternGroup extends GroupBase {
  readonly kind: 'extern';
  readonly extern: ExternNode;
}

/** See the file header. */
export type Group = LoopGroup | MatmulGroup | AttentionGroup | RecurrenceGroup | ExternGroup;

/** The group of one node. */
export function groupOf(ir: IrBuilder, node: IrNode): Group {
  const base = { id: node.id, nodes: [node] };
  if (node.kind === 'extern') return { ...base, kind: 'extern', extern: node };
  if (node.kind === 'attention') return { ...base, kind: 'attention', attention: node };
  if (node.kind === 'recurrence') return { ...base, kind: 'recurrence', recurrence: node };
  if (node.kind === 'matmul')
    return { ...base, kind: 'matmul', matmul: node, prologue: [], epilogue: [] };
  const inner = node.kind === 'reduction' ? node.inner : node.steps;
  const order = node.kind === 'reduction' ? node.order : [...node.vars, ...inner];
  const place = new Map([...node.vars, ...inner].map((v) => [v.name, ir.sym(v.name, v.size)]));
  return {
    ...base,
    kind: 'loop',
    outer: node.vars,
    inner,
    order,
    members: [{ node, place, inner: inner.length > 0 }],
  };
}

/** Nodes of two groups together, by id. */
export function mergedNodes(a: Group, b: Group): { readonly id: number; readonly nodes: IrNode[] } {
  return {
    id: Math.min(a.id, b.id),
    nodes: [...a.nodes, ...b.nodes].sort((x, y) => x.id - y.id),
  };
}

/** Operators of a group, for the name of its kernel. */
export function groupName({ kind, nodes }: Group): string {
  const origins = [
    ...new Set(nodes.flatMap((node) => node.origins.map((origin) => origin.replace(/^_+/, '')))),
  ].filter((origin) => origin !== 'output' && origin !== '');
  const listed =
    origins.length > 4 ? [...origins.slice(0, 3), origins[origins.length - 1]!] : origins;
  return `${kind === 'extern' ? 'extern' : 'fused'}_${listed.join('_') || 'copy'}`.replace(
    /\W+/g,
    '_',
  );
}

/** A group by its name and the buffers that it writes, for logs. */
export function describeGroup(group: Group): string {
  const written = group.nodes.flatMap((node) => nodeOutputs(node).map((out) => out.name));
  return `${groupName(group)} [${written.join()}]`;
}
