/**
 * @file `FusionContext`: facts about the lowered graph that fusion decisions read.
 */
import { sizeHint } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { IndexExpr } from '../ir/index-expr.js';
import { type IrBuffer, type IrNode, type LoweredGraph, nodeOutputs } from '../lower/ir-node.js';
import type { Lowering } from '../lower/lowering.js';
import { nodeChecks, nodeReads } from '../lower/prune.js';
import { numelOf } from '../lower/shape-math.js';
import { type Access, type NodeAccesses, accessesOf } from './access.js';
import type { Group, Member } from './group.js';

/** See the file header. */
export class FusionContext {
  readonly buffers: Map<string, IrBuffer> = new Map();
  /** Nodes that fill each buffer but arguments as they come: one, or one for each part. */
  readonly writers: Map<string, IrNode[]> = new Map();
  /** Nodes that read each buffer, in order. */
  readonly readers: Map<string, IrNode[]> = new Map();
  private readonly accesses = new Map<IrNode, NodeAccesses>();
  private readonly placed = new WeakMap<Member, Map<Access, IndexExpr>>();

  constructor(
    readonly lowering: Lowering,
    readonly graph: LoweredGraph,
  ) {
    for (const buffer of graph.inputs) this.buffers.set(buffer.name, buffer);
    for (const node of graph.nodes) {
      const found = accessesOf(lowering, node);
      this.accesses.set(node, found);
      for (const out of nodeOutputs(node)) {
        this.buffers.set(out.name, out);
        if (out.kind === 'input' && out.before === null) continue;
        const others = this.writers.get(out.name);
        if (others === undefined) this.writers.set(out.name, [node]);
        else others.push(node);
      }
      // Nobody writes a buffer without elements, which a reference kernel takes like others.
      if (node.kind === 'extern')
        for (const read of node.reads)
          if (!this.buffers.has(read.name)) this.buffers.set(read.name, read);
      for (const buf of nodeReads(node)) {
        const list = this.readers.get(buf) ?? [];
        list.push(node);
        this.readers.set(buf, list);
      }
    }
  }

  of(node: IrNode): NodeAccesses {
    return this.accesses.get(node)!;
  }

  /** The element offset of an access in its group's variables. */
  indexIn(member: Member, access: Access): IndexExpr {
    let cache = this.placed.get(member);
    if (cache === undefined) this.placed.set(member, (cache = new Map()));
    let index = cache.get(access);
    if (index === undefined) {
      index = this.place(member, access.index);
      cache.set(access, index);
    }
    return index;
  }

  /** An index over a node's variables in its group's variables. */
  place(member: Member, index: IndexExpr): IndexExpr {
    const { lowering } = this;
    return lowering.ir.substituteIndex(
      index,
      (name) => member.place.get(name),
      (value) => lowering.substitute(value, member.place),
    );
  }

  /** Whether several nodes fill a buffer, each a part of it. */
  isInParts(name: string): boolean {
    return (this.writers.get(name)?.length ?? 0) > 1;
  }

  /** Bytes of a buffer, at the example's sizes where they may vary. */
  bytes(name: string): number {
    const buffer = this.buffers.get(name)!;
    return sizeHint(numelOf(buffer.sizes)) * itemSize(buffer.dtype);
  }

  /** Whether a buffer written by `nodes` must be in memory after them. */
  isStored(name: string, nodes: ReadonlySet<IrNode>): boolean {
    const buffer = this.buffers.get(name)!;
    if (buffer.kind === 'input' || buffer.output >= 0) return true;
    return (this.readers.get(name) ?? []).some((reader) => !nodes.has(reader));
  }

  /** Buffer parameters that a kernel of these nodes would have; one more to note failed checks in. */
  parameterCount(nodes: readonly IrNode[]): number {
    const set = new Set(nodes);
    const written = new Set(nodes.flatMap((node) => nodeOutputs(node).map((out) => out.name)));
    const params = new Set([...written].filter((name) => this.isStored(name, set)));
    for (const node of nodes) {
      for (const read of this.of(node).reads)
        if (!written.has(read.buf) || this.buffers.get(read.buf)!.kind === 'input')
          params.add(read.buf);
    }
    return params.size + (nodes.some(nodeChecks) ? 1 : 0);
  }

  /** Whether the kernel of two groups would stay within the backend's limits. */
  fits(a: Group, b: Group): boolean {
    const most = this.lowering.capabilities.maxBuffersPerKernel;
    const nodes = [...a.nodes, ...b.nodes];
    let accesses = 1;
    for (const node of nodes) {
      const { reads, writes } = this.of(node);
      accesses += reads.length + writes.length;
    }
    return accesses <= most || this.parameterCount(nodes) <= most;
  }
}
