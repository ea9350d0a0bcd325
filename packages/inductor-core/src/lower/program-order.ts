/**
 * @file `ProgramOrder`: where in the program a lowered graph's checks and writes were.
 *
 * A functional graph writes to its inputs at its end, but eager comes to a write only if all checks before it passed.
 * So a write must follow the checks that it followed in the program, and only those: batch norm's running statistics
 * need not wait for a loss to look at its labels. Whether a write that precedes a failing check happens is open.
 */
import type { Expr } from '../ir/expr.js';
import { postorder } from '../ir/walk.js';
import type { IrBuffer, IrNode } from './ir-node.js';

/** See the file header. Places are those of `meta.programOrder`. */
export class ProgramOrder {
  /** Place of the node that is being lowered; 0 where the graph does not say. */
  now = 0;
  private readonly checks = new Map<Expr, number>();
  private readonly writes = new Map<IrBuffer, number>();

  /** An expression checks a value for the node that is being lowered. */
  noteCheck<E extends Expr>(expr: E): E {
    if (!this.checks.has(expr)) this.checks.set(expr, this.now);
    return expr;
  }

  /** An expression was rebuilt: what it checks, it checks for the same node. */
  noteMoved(from: Expr, to: Expr): void {
    const at = this.checks.get(from);
    if (at !== undefined && !this.checks.has(to)) this.checks.set(to, at);
  }

  /** An input is overwritten last at a place. */
  noteWrite(buffer: IrBuffer, at: number): void {
    this.writes.set(buffer, at);
  }

  /** Place of the first check of a node; Infinity if it has none. */
  firstCheck(node: IrNode): number {
    if (this.checks.size === 0 || node.kind === 'extern') return Infinity;
    const roots = node.kind === 'matmul' ? [node.a, node.b] : [node.value];
    return Math.min(...postorder(roots).map((expr) => this.checks.get(expr) ?? Infinity));
  }

  /** Place of the write that a node makes to an input; -1 if it makes none, or nobody knows where. */
  writeOf(node: IrNode): number {
    return node.kind === 'pointwise' && node.mutation ? (this.writes.get(node.out) ?? -1) : -1;
  }
}
