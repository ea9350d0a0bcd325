/**
 * @file `GroupBody`: what a group computes, before its loops and parameters are settled.
 *
 * Values that pass between members are expressions here, not memory; only what is read elsewhere is
 * stored. Buffers are still named as in the graph.
 */
import type { DType } from '@tessera/tensor';
import type { Combine, Expr, ReduceOp } from '../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { indexValues, postorder } from '../ir/walk.js';
import { recurrenceRoots } from '../ir/kernel-parts.js';
import {
  type AttentionShape,
  type IrBuffer,
  type RecurrenceShape,
  attentionRoots,
} from '../lower/ir-node.js';

/** A store to a buffer. */
export interface BodyStore {
  readonly buffer: IrBuffer;
  readonly index: IndexExpr;
  readonly value: Expr;
  /** Whether it happens at every inner point. */
  readonly inner: boolean;
  readonly combine?: Combine;
}

/** A reduction over the inner points into results `ids`, or a scan over them. */
export interface BodyReduce {
  readonly op: ReduceOp;
  readonly ids: readonly number[];
  readonly dtype: DType;
  readonly value: Expr;
  readonly running: boolean;
}

/** Stages in order, each with its statements in order. */
export interface BodyStage {
  readonly kind: 'outer' | 'inner';
  readonly reduces: readonly BodyReduce[];
  readonly stores: readonly BodyStore[];
}

/** Body of a loop kernel. */
export interface LoopBody {
  readonly kind: 'loop';
  readonly outer: readonly SizedLoop[];
  readonly inner: readonly SizedLoop[];
  readonly stages: readonly BodyStage[];
}

/** Body of a matmul kernel; stores are the epilogue. */
export interface MatmulBody {
  readonly kind: 'matmul';
  readonly batch: readonly SizedLoop[];
  readonly m: readonly SizedLoop[];
  readonly n: readonly SizedLoop[];
  readonly k: readonly SizedLoop[];
  readonly a: Expr;
  readonly b: Expr;
  readonly accDtype: DType;
  readonly stores: readonly BodyStore[];
}

/** Body of an attention kernel; stores are the epilogue. */
export interface AttentionBody extends AttentionShape {
  readonly kind: 'attention';
  readonly stores: readonly BodyStore[];
  readonly rowStores: readonly BodyStore[];
  readonly columnStores: readonly BodyStore[];
  readonly weightStores: readonly BodyStore[];
}

/** Body of a recurrence kernel. */
export interface RecurrenceBody extends RecurrenceShape {
  readonly kind: 'recurrence';
  readonly stores: readonly BodyStore[];
  readonly lastStores: readonly BodyStore[];
}

/** See the file header. */
export type GroupBody = LoopBody | MatmulBody | AttentionBody | RecurrenceBody;

/** Stores of a body in order. */
export function bodyStores(body: GroupBody): readonly BodyStore[] {
  switch (body.kind) {
    case 'loop':
      return body.stages.flatMap((stage) => stage.stores);
    case 'matmul':
      return body.stores;
    case 'attention':
      return [...body.stores, ...body.rowStores, ...body.columnStores, ...body.weightStores];
    case 'recurrence':
      return [...body.stores, ...body.lastStores];
  }
}

/** Values that a body computes, in the order in which its parameters are numbered. */
export function bodyRoots(body: GroupBody): Expr[] {
  const stored = (): Expr[] => bodyStores(body).flatMap(storeRoots);
  if (body.kind === 'matmul') return [body.a, body.b, ...stored()];
  if (body.kind === 'attention') return [...attentionRoots(body), ...stored()];
  if (body.kind === 'recurrence') return [...recurrenceRoots(body), ...stored()];
  return body.stages.flatMap((stage) => [
    ...stage.reduces.map((reduce) => reduce.value),
    ...stage.stores.flatMap(storeRoots),
  ]);
}

/** The value of a store and those inside its place. */
function storeRoots({ index, value }: BodyStore): Expr[] {
  return [...indexValues(index), value];
}

/** Names of the buffers that expressions load. */
export function loadedBuffers(roots: readonly Expr[]): Set<string> {
  const names = new Set<string>();
  for (const expr of postorder(roots)) if (expr.kind === 'load') names.add(expr.buf);
  return names;
}
