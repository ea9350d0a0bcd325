/**
 * @file `CoreItems`: how the outer loops of a kernel are cut into instances of the grid, which cores take.
 *
 * An item is one value of most outer variables and a run of consecutive values of the variables along which vectors
 * lie. Items are numbered with the last variable fastest.
 */
import { type Size, sizeCeilDiv, sizeProduct } from '@tessera/shared';
import type { SizedLoop } from '../../ir/index-expr.js';
import { times, variable } from '../kernel/places.js';
import type { ScheduledBody } from '../kernel/scheduled-kernel.js';
import type { LaneChoice } from './lane-choice.js';
import type { PreparedSpace } from './prepare-space.js';
import { blockColumns } from './row-blocks.js';
import { allOf, define, digitsOf, LANES, type Range, runOf } from './vector-loops.js';

/** Elements of a pointwise item: about a microsecond of work. */
const ITEM_ELEMENTS = 2048;
/** A tile of a transposing kernel: few rows read by lanes, so that their cache lines stay until all is read. */
const TILE_LANE = 16;
const TILE_ACROSS = 128;
/** Elements of the rows that points of inner loops store to: cache lines that follow each other, and sums that wait for none of the others. */
const ROW_ELEMENTS = 64;

/** What the inner loops of a kernel do: nothing, there being none; store to a row at each point; reduce columns in blocks; or other things. */
export type InnerLoops = 'none' | 'rows' | 'blocks' | 'other';

/** The axis of the grid. */
export const ITEM = 'item';

/** A variable cut into `count` runs of `length` values; the last may be shorter. */
interface Run extends SizedLoop {
  readonly length: number;
  readonly count: Size;
}

/** See the file header. */
export class CoreItems {
  /** Number of items. */
  readonly count: Size;
  private readonly runs: readonly Run[];

  constructor(choice: LaneChoice, { space, outer }: PreparedSpace, inner: InnerLoops) {
    const points = outer.reduce((n, name) => n * space.hint(name), 1);
    this.runs = outer.map((name) => {
      const size = space.size(name);
      const length = runLength(choice, { name, size }, points, inner);
      return { name, size, length, count: sizeCeilDiv(size, length) };
    });
    this.count = sizeProduct(this.runs.map(({ count }) => count));
  }

  /** The variables of which an item has one value, and the number of the item's run of the others. */
  decode(): ScheduledBody {
    const numbers = this.runs.map(({ name, length, count }) => ({
      name: length === 1 ? name : numberOf(name),
      size: count,
    }));
    return digitsOf(numbers, variable(ITEM));
  }

  /** An item's run of a variable. */
  rangeOf(name: string): { readonly lets: ScheduledBody; readonly range: Range } {
    const run = this.runs.find((each) => each.name === name)!;
    if (run.count === 1) {
      const all = allOf(run);
      if (typeof run.size === 'number') return { lets: [], range: all };
      const end = `${name}.end`;
      return { lets: [define(end, all.end)], range: { ...all, end: variable(end) } };
    }
    const begin = `${name}.begin`;
    const start = define(begin, times(variable(numberOf(name)), run.length));
    const { lets, range } = runOf(run, variable(begin), run.length);
    return { lets: [start, ...lets], range };
  }
}

/** Name of the number of an item's run of a variable. */
function numberOf(name: string): string {
  return `${name}@run`;
}

function runLength(
  choice: LaneChoice,
  { name, size }: SizedLoop,
  points: number,
  inner: InnerLoops,
): number {
  const { mode, lane, across, groups } = choice;
  if (mode === 'row' || (name !== lane && name !== across)) return 1;
  if (across !== lane) return name === lane ? TILE_LANE : TILE_ACROSS;
  const step = LANES * groups;
  if (inner === 'blocks') return blockColumns(size, choice);
  if (inner !== 'none') return inner === 'rows' ? Math.ceil(ROW_ELEMENTS / step) * step : step;
  const length = Math.ceil(ITEM_ELEMENTS / step) * step;
  if (typeof size !== 'number') return length;
  const isCut = size > 2 * ITEM_ELEMENTS || points / size < 16;
  return isCut ? length : size;
}
