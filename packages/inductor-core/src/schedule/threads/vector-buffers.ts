/**
 * @file Chooses the buffers that are declared as arrays of vec4.
 *
 * A buffer is, if some access moves four aligned elements at once and no store would write a single
 * component: WGSL lets an implementation rewrite the whole vector then, which races with other threads. Stores that combine
 * are of single elements, too.
 * (Single components are read from such buffers without harm.)
 */
import type { Expr, Stmt } from '../../ir/expr.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import type { LaneContext } from './lane-context.js';

/** Accesses of one part of a kernel under the lanes it is generated for. */
export interface AccessGroup {
  readonly context: LaneContext;
  readonly exprs: readonly Expr[];
  readonly stores: readonly Stmt[];
}

/** See the file header. */
export function chooseVectorBuffers(groups: readonly AccessGroup[]): Set<string> {
  const wanted = new Set<string>();
  const refused = new Set<string>();
  for (const { context, exprs, stores } of groups) {
    for (const expr of postorder([...exprs, ...stores.flatMap(stmtRoots)])) {
      if (expr.kind !== 'load') continue;
      const access = context.access(expr.index);
      if (access.stride === 1 && access.alignment === 4) wanted.add(expr.buf);
    }
    for (const stmt of stores) {
      if (stmt.kind !== 'store') continue;
      const access = context.access(stmt.index);
      const isVector = access.stride === 1 && access.alignment === 4;
      if (isVector && stmt.combine === undefined) wanted.add(stmt.buf);
      else refused.add(stmt.buf);
    }
  }
  for (const name of refused) wanted.delete(name);
  return wanted;
}
