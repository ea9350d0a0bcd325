/**
 * @file Passes: the sweeps over the inner loops that a kernel's stages turn into.
 */
import type { Size } from '@tessera/shared';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { stmtRoots } from '../../ir/walk.js';
import type { ReduceStmt } from '../two-passes.js';

/** See the file header. */
export interface Pass {
  readonly kind: 'outer' | 'inner';
  readonly stores: readonly Extract<Stmt, { kind: 'store' }>[];
  /** Running reductions, which what follows them in the pass may use. */
  readonly scans: readonly ReduceStmt[];
  readonly reductions: readonly ReduceStmt[];
  /** Every expression evaluated in the pass. */
  readonly roots: readonly Expr[];
}

/** The passes of a kernel. */
export function passesOf(kernel: LoopKernel<Size>): readonly Pass[] {
  return kernel.stages.map(({ kind, body }) => {
    const reduces = body.filter((stmt) => stmt.kind === 'reduce');
    return {
      kind,
      stores: body.filter((stmt) => stmt.kind === 'store'),
      scans: reduces.filter((stmt) => stmt.running === true),
      reductions: reduces.filter((stmt) => stmt.running !== true),
      roots: body.flatMap(stmtRoots),
    };
  });
}
