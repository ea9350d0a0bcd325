/**
 * @file Memory accesses of a node: the facts from which dependencies and fusion follow.
 */
import type { IndexExpr } from '../ir/index-expr.js';
import type { Expr } from '../ir/expr.js';
import { indexValues, postorder } from '../ir/walk.js';
import { type IrBuffer, type IrNode, placeValues, placedResults } from '../lower/ir-node.js';
import type { Lowering } from '../lower/lowering.js';
import { nodeLoads } from '../lower/prune.js';

/** One load or store, in the node's own loop variables. */
export interface Access {
  readonly buf: string;
  /** Element offset in the buffer. */
  readonly index: IndexExpr;
  /** The same place as coordinates of the buffer's dimensions. */
  readonly coords: readonly IndexExpr[];
  /** Depends on values read at run time, so it matches nothing. */
  readonly indirect: boolean;
}

/** Reads and writes of a node. */
export interface NodeAccesses {
  readonly reads: readonly Access[];
  readonly writes: readonly Access[];
}

function storeAccess(l: Lowering, buffer: IrBuffer, coords: readonly IndexExpr[]): Access {
  const index = l.address(buffer, coords);
  return { buf: buffer.name, index, coords, indirect: indexValues(index).length > 0 };
}

/** Loads inside the place that a node writes to. */
function placingLoads(node: IrNode): ReadonlySet<Expr> {
  return new Set(node.kind === 'pointwise' ? postorder(placeValues(node)) : []);
}

/** Collects the accesses of a node. */
export function accessesOf(l: Lowering, node: IrNode): NodeAccesses {
  if (node.kind === 'extern') {
    const whole = (buffer: IrBuffer): Access => ({
      buf: buffer.name,
      index: l.ir.int(0),
      coords: [],
      indirect: true,
    });
    return { reads: node.reads.map(whole), writes: node.outs.map(whole) };
  }
  const placing = placingLoads(node);
  const reads = nodeLoads(node).map((load): Access => ({
    buf: load.buf,
    index: load.index,
    coords: l.coordsOf(load),
    // What says where to store has to be in memory before the kernel.
    indirect: indexValues(load.index).length > 0 || placing.has(load),
  }));
  switch (node.kind) {
    case 'pointwise':
      return { reads, writes: [storeAccess(l, node.out, node.part ?? l.vars(node.out.sizes))] };
    case 'reduction':
      return { reads, writes: node.outs.map((out) => storeAccess(l, out, l.vars(out.sizes))) };
    case 'matmul':
      return { reads, writes: [storeAccess(l, node.out, node.coords)] };
    case 'attention':
    case 'recurrence':
      return {
        reads,
        writes: placedResults(node).map(({ out, coords }) => storeAccess(l, out, coords)),
      };
  }
}
