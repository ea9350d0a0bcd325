/**
 * @file `ProgramOrder`: where in the program a lowered graph's checks and writes were.
 *
 * A functional graph writes to its inputs at its end, but eager comes to a write only if all checks before it passed.
 * So a write must follow the checks that it followed in the program, and only those: batch norm's running statistics
 * need not wait for a loss to look at its labels. Backward looks at nothing that forward has not looked at, so its
 * checks have no place. Whether a write that precedes a failing check happens is open.
 */
import type { Expr } from '../ir/expr.js';
import { postorder } from '../ir/walk.js';
import { type IrBuffer, type IrNode, nodeRoots } from './ir-node.js';

/** See the file header. Places are those of `meta.programOrder`. */
export class ProgramOrder {
  /** Place of the node that is being lowered; null where the graph does not say, and in backward. */
  now: number | null = null;
  private readonly checks = new Map<Expr, number>();
  private readonly writes = new Map<IrBuffer, number>();

  /** An expression checks a value for the node that is being lowered. */
  noteCheck<E extends Expr>(expr: E): E {
    if (this.now !== null && !this.checks.has(expr)) this.checks.set(expr, this.now);
    return expr;
  }

  /** Expressions were rebuilt: what they check, they check for the same nodes. */
  noteMoved(moved: ReadonlyMap<Expr, Expr>): void {
    if (this.checks.size === 0) return;
    for (const [from, to] of moved) {
      const at = this.checks.get(from);
      if (at !== undefined && !this.checks.has(to)) this.checks.set(to, at);
    }
  }

  /** An input is overwritten last at a place. */
  noteWrite(buffer: IrBuffer, at: number): void {
    this.writes.set(buffer, at);
  }

  /** Places of the checks inside expressions. */
  checksIn(roots: readonly Expr[]): number[] {
    if (this.checks.size === 0) return [];
    const places = postorder(roots).flatMap((expr) => this.checks.get(expr) ?? []);
    return [...new Set(places)];
  }

  /** Places of the checks that a node makes. */
  checksOf(node: IrNode): number[] {
    return this.checksIn(nodeRoots(node));
  }

  /** Place of the write that a node makes to an input; null if it makes none, or nobody knows where. */
  writeOf(node: IrNode): number | null {
    return node.kind === 'pointwise' && node.mutation ? (this.writes.get(node.out) ?? null) : null;
  }
}
