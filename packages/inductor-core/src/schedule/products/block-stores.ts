/**
 * @file What is stored of a block of sums, behind the last steps: rows of it, in vectors along columns.
 *
 * The routine `epilogue(batch, row, rows, …, at)` stores `rows` from `row` on. Columns are `cols` from `col` on, or the tile
 * of an image: `height` by `width` pixels from `y`, `x` on. `at` is where the sum of row 0 and column 0 would be in the
 * array, were the block so large.
 */
import type { Size } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { kernelLoops } from '../../ir/kernel-parts.js';
import { extent } from '../../ir/loop-vars.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import { minus, over, placesOf, plus, sum, times, variable, whole } from '../kernel/places.js';
import type { BlockRange } from '../kernel/blocks.js';
import type { Routine } from '../kernel/registers.js';
import type { ScheduledBody, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { storesOf } from '../kernel/scratch-stores.js';
import {
  define,
  LANES,
  loopOver,
  type Range,
  stepped,
  vectorsAlong,
} from '../vectors/vector-loops.js';
import type { ImageTiles } from './image-tiles.js';
import { type MergedSpace, mergedSpace } from './merged-space.js';
import type { OrientedProduct } from './oriented-product.js';
import type { Windows } from './windows.js';

/** The array of sums. */
export const SUMS = 'sums';

/** Elements of a full vector iteration. */
const STEP = 8;

/** The routine, and the loops that its indices need. */
export interface BlockStores {
  readonly routine: Routine;
  readonly loops: readonly SizedLoop[];
  /** Visits it for rows whose sums begin in the array at what would be row `first`. */
  visit(batch: IndexExpr, rows: BlockRange, first: IndexExpr): ScheduledStmt;
}

/** Loops over the columns of a block around `body`, which is handed where the sum of a column lies in its row. */
interface Columns {
  /** What the routine is told of the columns of a block, and where the first of them lies, counted from column 0. */
  readonly parameters: readonly string[];
  readonly origin: IndexExpr;
  readonly each: (body: (place: IndexExpr) => ScheduledBody) => ScheduledBody;
}

/** Stores of columns that are one range; blocks have up to `colBlock` of them, and rows of sums are `pitch` apart. */
export function rangeStores(
  product: OrientedProduct,
  colBlock: number,
  pitch: number,
): BlockStores {
  const { a, b, batch, kernel, colCount } = product;
  const merged = mergedSpace([a.lines, b.lines], batch, [], kernel.epilogue);
  const each = rangeColumns(merged.lists[1]!, colCount, colBlock);
  const origin = variable('col');
  return blockStores(product, merged, { parameters: ['col', 'cols'], origin, each }, pitch);
}

function rangeColumns(
  list: readonly SizedLoop[],
  colCount: Size,
  colBlock: number,
): Columns['each'] {
  const { name, size } = list.at(-1)!;
  const outer = list.slice(0, -1);
  const [own, col, turn] = [variable(name), variable('col'), variable('turn')];
  const stop = plus(col, variable('cols'));
  if (outer.length === 0) {
    const tail = typeof colCount === 'number' && colBlock % STEP === 0 ? colCount % STEP : null;
    return (body) => [
      define('stop', stop),
      ...inVectors(name, { begin: col, end: variable('stop') }, tail, body(own)),
    ];
  }
  const before = times(turn, size);
  const inTurns = (end: IndexExpr, body: ScheduledBody): ScheduledBody => [
    define('turns', end),
    loopOver('turn', { begin: over(col, size), end: variable('turns') }, 1, [
      ...placesOf(outer, turn),
      ...body,
    ]),
  ];
  const place = plus(variable('before'), own);
  if (typeof size === 'number' && colBlock % size === 0)
    return (body) =>
      inTurns(over(stop, size), [
        define('before', before),
        ...stepped(list.at(-1)!, { begin: whole(0), end: whole(size) }, STEP, (valid) =>
          vectorsAlong(name, valid, body(place)),
        ),
      ]);
  // Blocks begin and end within a run of the last variable.
  return (body) =>
    inTurns(plus(over(minus(stop, whole(1)), size), whole(1)), [
      define('before', before),
      define('skipped', variable('before'), col),
      define('from', minus(col, variable('skipped'))),
      define('to', minus(stop, variable('before')), size),
      ...inVectors(name, { begin: variable('from'), end: variable('to') }, null, body(place)),
    ]);
}

/** Stores of a tile of an image. */
export function imageStores(
  { product, units, y, x }: Windows,
  { columns, pitch: across }: ImageTiles,
  pitch: number,
): BlockStores {
  const [down, along] = [
    { name: y.pixel ?? 'unit.y', size: y.size },
    { name: x.pixel ?? 'unit.x', size: x.size },
  ];
  const { a, batch, kernel } = product;
  const merged = mergedSpace([a.lines, [down], [along]], batch, [], kernel.epilogue);
  for (const name of units) merged.space.fix(name);
  // What is left of every row of a tile behind whole vectors, if that is known.
  const isEven = x.size === columns || columns % STEP === 0;
  const tail = typeof x.size === 'number' && isEven ? x.size % STEP : null;
  const [top, left] = [variable('y'), variable('x')];
  const place = (row: IndexExpr, column: IndexExpr): IndexExpr => sum(times(row, across), column);
  return blockStores(
    product,
    merged,
    {
      parameters: ['y', 'x', 'height', 'width'],
      origin: place(top, left),
      each: (body) => [
        define('bottom', plus(top, variable('height'))),
        define('right', plus(left, variable('width'))),
        loopOver(down.name, { begin: top, end: variable('bottom') }, 1, [
          ...inVectors(
            along.name,
            { begin: left, end: variable('right') },
            tail,
            body(place(variable(down.name), variable(along.name))),
          ),
        ]),
      ],
    },
    pitch,
  );
}

function blockStores(
  { kernel, batch, a }: OrientedProduct,
  { space, lists }: MergedSpace,
  { parameters, origin, each }: Columns,
  pitch: number,
): BlockStores {
  const [rows, ...others] = lists;
  const own = kernelLoops(kernel);
  const results = postorder(kernel.epilogue.flatMap(stmtRoots)).filter(
    ({ kind }) => kind === 'acc',
  );
  const stores = storesOf(kernel.epilogue);
  const row = rows!.length > 1 ? 'line' : rows![0]!.name;
  const fixed = own.flatMap(({ name }): ScheduledStmt[] => {
    const definition = space.definitions.get(name);
    return definition === undefined ? [] : [define(name, definition)];
  });
  return {
    visit: (entry, [begin, count], first) => ({
      kind: 'visit',
      routine: 'epilogue',
      at: [
        entry,
        begin,
        count,
        ...parameters.map(variable),
        sum(times(first, -pitch), times(origin, -1)),
      ],
      of: [],
    }),
    loops: [
      ...batch,
      ...rows!,
      ...others.flat(),
      { name: 'line', size: extent(a.lines) },
      { name: 'before', size: extent(others.flat()) },
      { name: 'at', size: 1 },
    ],
    routine: {
      name: 'epilogue',
      parameters: ['batch', 'row', 'rows', ...parameters, 'at'],
      results: [],
      body: [
        ...placesOf(batch, variable('batch')),
        ...fixed,
        define('rows.end', plus(variable('row'), variable('rows'))),
        loopOver(row, { begin: variable('row'), end: variable('rows.end') }, 1, [
          ...(rows!.length > 1 ? placesOf(rows!, variable(row)) : []),
          ...each((place) => {
            const at = sum(variable('at'), times(variable(row), pitch), place);
            return [
              ...results.map((value): ScheduledStmt => ({
                kind: 'recall',
                value,
                array: SUMS,
                at,
              })),
              ...stores,
            ];
          }),
        ]),
      ],
    },
  };
}

/** A body at a range of places: `tail` is what is left of it behind whole iterations, if that is known. */
function inVectors(
  name: string,
  { begin, end }: Range,
  tail: number | null,
  body: ScheduledBody,
): ScheduledBody {
  const width = tail === null ? LANES : STEP;
  const middle = variable(`${name}.whole`);
  const vectors = (range: Range, pace: number, valid: number): ScheduledStmt =>
    loopOver(name, range, pace, vectorsAlong(name, valid, body));
  return [
    define(`${name}.whole`, plus(begin, times(over(minus(end, begin), width), width))),
    vectors({ begin, end: middle }, width, width),
    ...(tail === 0 ? [] : [vectors({ begin: middle, end }, tail === null ? 1 : STEP, tail ?? 1)]),
  ];
}
