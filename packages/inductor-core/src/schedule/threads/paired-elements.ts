/**
 * @file Chooses the buffers that are read in pairs: every element (or vector of four halves) that is read is read together
 * with its neighbour, the first of them at an even place. A pair is then one access.
 */
import type { Expr } from '../../ir/expr.js';
import { divisorIn } from '../../ir/index-divisor.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { printIndex } from '../../ir/print.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import type { AccessGroup } from './vector-buffers.js';

/** Where an access is: the first element of its pair, and whether it is of the first or the second part. */
export interface PairedPlace {
  readonly first: IndexExpr;
  readonly part: 0 | 1;
}

/**
 * The place of `width` elements from an index on, in a buffer of pairs of so many; null where it is not known. The
 * variable `still` is always 0.
 */
export function pairedPlace(
  index: IndexExpr,
  width: 1 | 4,
  still: string | null = null,
): PairedPlace | null {
  let offset = 0;
  const rest: IndexExpr[] = [];
  for (const term of index.kind === 'add' ? index.terms : [index])
    if (term.kind === 'int') offset += term.value;
    else if (term.kind !== 'sym' || term.name !== still) rest.push(term);
  const pair = 2 * width;
  const within = ((offset % pair) + pair) % pair;
  if (within % width !== 0) return null;
  if (offset !== within || rest.length === 0) rest.push({ kind: 'int', value: offset - within });
  const first: IndexExpr = rest.length === 1 ? rest[0]! : { kind: 'add', terms: rest };
  return divisorIn(first, pair) === pair ? { first, part: within === 0 ? 0 : 1 } : null;
}

/** What is known about buffers and variables. */
export interface PairFacts {
  /** Buffers that are accessed in vectors of four, and those of them whose vectors may come in pairs. */
  readonly vectors: ReadonlySet<string>;
  readonly halves: ReadonlySet<string>;
  /** A variable that is always 0. */
  readonly still: string | null;
}

/** See the file header. */
export function choosePairedBuffers(
  groups: readonly AccessGroup[],
  { vectors, halves, still }: PairFacts,
): Set<string> {
  const places = new Map<string, Map<string, number>>();
  const refused = new Set([...vectors].filter((name) => !halves.has(name)));
  const numbers = new Map<Expr, number>();
  const numberOf = (value: Expr): string => {
    if (!numbers.has(value)) numbers.set(value, numbers.size);
    return `v${numbers.get(value)!}`;
  };
  for (const { context, exprs, stores } of groups) {
    for (const stmt of stores) if (stmt.kind === 'store') refused.add(stmt.buf);
    for (const expr of postorder([...exprs, ...stores.flatMap(stmtRoots)])) {
      if (expr.kind !== 'load' || refused.has(expr.buf)) continue;
      const { stride, alignment } = context.access(expr.index);
      const width = vectors.has(expr.buf) ? 4 : 1;
      const fits = width === 1 ? stride === 0 : stride === 1 && alignment === 4;
      const place = fits ? pairedPlace(expr.index, width, still) : null;
      if (place === null) {
        refused.add(expr.buf);
        continue;
      }
      let found = places.get(expr.buf);
      if (found === undefined) places.set(expr.buf, (found = new Map()));
      const first = printIndex(place.first, numberOf);
      found.set(first, (found.get(first) ?? 0) | (1 << place.part));
    }
  }
  const isWhole = (pairs: ReadonlyMap<string, number>): boolean =>
    [...pairs.values()].every((parts) => parts === 3);
  return new Set(
    [...places].flatMap(([name, pairs]) => (!refused.has(name) && isWhole(pairs) ? [name] : [])),
  );
}
