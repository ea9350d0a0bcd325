/**
 * @file The routines of a product: `load_<name>(batch, along, depth)`, which gives four values of an operand, and
 * `store_c(batch, down, along)`, which runs the epilogue on four results along n.
 */
import { type Size, isMultiple } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { extent, moves } from '../../ir/loop-vars.js';
import { asIndex, over, placesOf, variable } from '../kernel/places.js';
import type { Routine } from '../kernel/registers.js';
import type { Condition, Lanes, ScheduledBody, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { lanesAlong, type LoadOrder, type ProductOperand } from './operand-order.js';

/** Four values along variables. */
interface VectorPlace {
  readonly lane: string;
  /** The variables at the first value, or, `within` the vector, at each. */
  readonly lets: ScheduledBody;
  readonly isWithin: boolean;
}

/** The four values from a position on, which is a multiple of four. */
export function vectorPlace(vars: readonly SizedLoop[], position: string): VectorPlace {
  const { lane } = lanesAlong(vars);
  const lets = placesOf(vars, variable(position));
  if (lane === undefined) return { lane: position, lets, isWithin: true };
  if (vars.filter(moves).length === 1) return { lane, lets, isWithin: false };
  const quads = placesOf(vars, variable('quad.0'), { lane });
  return {
    lane,
    lets: [{ kind: 'let', name: 'quad.0', index: over(variable(position), 4) }, ...quads],
    isWithin: false,
  };
}

/** A vector behind the variables that its statements name. */
export function vector(
  { lane, isWithin }: VectorPlace,
  lets: ScheduledBody,
  body: ScheduledBody,
  valid: Lanes['valid'] = 4,
): ScheduledBody {
  const lanes: Lanes = { lane, across: lane, width: 4, step: 1, groups: 1, valid };
  if (isWithin) return [{ kind: 'vector', lanes, body: [...lets, ...body] }];
  return [...lets, { kind: 'vector', lanes, body }];
}

/** Gives four values along x or k; zero beyond the end of k, if that `isCut`. */
export function loadRoutine(
  { name, expr, batch, x, k }: ProductOperand,
  order: LoadOrder,
  gives: DType,
  isCut: boolean,
): Routine {
  const isAlongK = order === 'vectors along k';
  const place = isAlongK ? vectorPlace(k, 'depth') : vectorPlace(x, 'along');
  const lets = [
    ...placesOf(batch, variable('batch')),
    ...(isAlongK ? placesOf(x, variable('along')) : place.lets),
    ...(isAlongK ? place.lets : placesOf(k, variable('depth'))),
  ];
  const depth = extent(k);
  // Of vectors that are whole or not there at all the first value tells.
  const index = variable(isAlongK && !isMultiple(depth, 4) ? place.lane : 'depth');
  const give: ScheduledStmt = {
    kind: 'give',
    value: expr,
    ...(isCut && { where: below(index, depth) }),
  };
  return {
    name: `load_${name}`,
    parameters: ['batch', 'along', 'depth'],
    results: [],
    gives,
    body: vector(place, lets, [give]),
  };
}

/** What is stored, and of which tiles. */
export interface ProductStore {
  readonly epilogue: readonly Stmt[];
  readonly batch: readonly SizedLoop[];
  readonly m: readonly SizedLoop[];
  readonly n: readonly SizedLoop[];
  /** Rows and columns of a tile; what lies beyond the ends is not stored. */
  readonly bm: number;
  readonly bn: number;
  /** Names of the results. */
  readonly products: readonly string[];
  /** Ends the visits for results that are not stored. */
  readonly exits?: ScheduledBody;
}

/** Stores four results. */
export function storeRoutine({
  epilogue,
  batch,
  m,
  n,
  bm,
  bn,
  products,
  exits = [],
}: ProductStore): Routine {
  const [height, width] = [extent(m), extent(n)];
  const inside = [
    ...(isMultiple(height, bm) ? [] : [below(variable('down'), height)]),
    ...(isMultiple(width, bn) ? [] : [below(variable('along'), width)]),
  ];
  const place = vectorPlace(n, 'along');
  const lets = [
    ...placesOf(batch, variable('batch')),
    ...placesOf(m, variable('down')),
    ...place.lets,
  ];
  const valid = isMultiple(width, 4) ? 4 : { index: variable(place.lane), limit: width };
  const stores = epilogue.filter((stmt) => stmt.kind === 'store');
  return {
    name: 'store_c',
    parameters: ['batch', 'down', 'along'],
    results: products,
    body: [
      ...(inside.length === 0 ? [] : [{ kind: 'exit', unless: inside } as const]),
      ...exits,
      ...vector(place, lets, stores, valid),
    ],
  };
}

/** A condition on an index. */
export function below(index: IndexExpr, limit: Size | IndexExpr): Condition {
  return { kind: 'below', index, limit: asIndex(limit) };
}
