/**
 * @file `RowBlocks`: reductions of columns a block of rows at a time.
 *
 * Who reduces some columns from the first row to the last, and then the next ones, visits every row for two cache lines: of
 * a matrix that no cache holds, each visit is to another page, and nothing is read ahead. In blocks, an instance takes a
 * few rows of all its columns before it goes on to the next rows, so rows are read as they lie. In between, the parts of
 * accumulators wait in scratch arrays, which caches hold.
 */
import { type Size, sizeHint } from '@tessera/shared';
import { type DType, itemSize } from '@tessera/tensor';
import type { IndexExpr } from '../../ir/index-expr.js';
import { postorder } from '../../ir/walk.js';
import { minus, variable } from '../kernel/places.js';
import type {
  Accumulator,
  ScheduledBody,
  ScheduledStmt,
  ScratchArray,
} from '../kernel/scheduled-kernel.js';
import { type Reduction, SETTLE_EVERY } from '../reduction.js';
import type { LaneChoice } from './lane-choice.js';
import type { Pass } from './passes.js';
import type { PreparedSpace } from './prepare-space.js';
import { LANES } from './vector-loops.js';

/**
 * Rows of a block: as many as processors read ahead in at a time, and where it is work to merge parts, as many as a sum may
 * take in before it settles: nothing settles inside of a block.
 */
const ROWS = { cheap: 16, costly: SETTLE_EVERY };
/** Operations of merging beyond which it is work. */
const CHEAP_MERGE = 4;
/** Operations that make merging more work than rows in order save: those of means and of softmax. */
const SLOW: ReadonlySet<string> = new Set(['div', 'exp']);
/** Fewest blocks that are worth keeping parts for. */
const FEWEST_BLOCKS = 4;
/** Elements that a cache holds, where no order is better than another one: columns are work for more cores then. */
const CACHED = 1 << 16;
/** Columns of an instance: lines that follow each other, and work for several cores. */
const COLUMNS = { fewest: 256, most: 512, instances: 8 };

/** Types that scratch arrays hold as they are computed. */
const HELD: ReadonlySet<DType> = new Set(['float32', 'float64', 'int32', 'int64', 'bool']);

/** Columns of an instance of a kernel that has so many. */
export function blockColumns(columns: Size, { groups }: LaneChoice): number {
  const step = LANES * groups;
  const share = Math.ceil(sizeHint(columns) / COLUMNS.instances);
  const wanted = Math.min(Math.max(share, COLUMNS.fewest), COLUMNS.most);
  return Math.max(1, Math.floor(wanted / step)) * step;
}

/** Whether a kernel reduces columns, and once: what a second sweep needs of the first would have to wait as well. */
export function reducesColumns(
  passes: readonly Pass[],
  { mode, lane, across, groups }: LaneChoice,
  { space, inner }: PreparedSpace,
): boolean {
  const sweeps = passes.filter(({ kind }) => kind === 'inner');
  return (
    mode === 'outer' &&
    lane === across &&
    inner.length === 1 &&
    sweeps.length === 1 &&
    sweeps.every(({ reductions, scans }) => reductions.length > 0 && scans.length === 0) &&
    sizeHint(space.size(lane)) > LANES * groups &&
    sizeHint(space.size(lane)) * sizeHint(space.size(inner[0]!)) > CACHED
  );
}

/** See the file header. */
export class RowBlocks {
  /** Rows of a block. */
  readonly rows: number;
  readonly arrays: readonly ScratchArray[];

  /** @param columns of an instance */
  private constructor(
    private readonly accumulators: readonly Accumulator[],
    columns: number,
  ) {
    const most = Math.max(...accumulators.map(({ reduction }) => mergeOf(reduction).length));
    this.rows = most > CHEAP_MERGE ? ROWS.costly : ROWS.cheap;
    this.arrays = accumulators.flatMap((accumulator) =>
      accumulator.reduction.part.map(({ dtype }, i) => ({
        name: arrayOf(accumulator, i),
        dtype,
        length: columns,
      })),
    );
  }

  /** For accumulators whose parts can wait in so many bytes, and that take in enough rows; null otherwise. */
  static of(
    accumulators: readonly Accumulator[],
    { rows, columns }: { readonly rows: Size; readonly columns: number },
    bytes: number,
  ): RowBlocks | null {
    const parts = accumulators.flatMap(({ reduction }) => reduction.part);
    const needed = parts.reduce((sum, { dtype }) => sum + itemSize(dtype) * columns, 0);
    const isSlow = accumulators.some(({ reduction }) =>
      mergeOf(reduction).some((op) => SLOW.has(op)),
    );
    if (isSlow || needed > bytes || !parts.every(({ dtype }) => HELD.has(dtype))) return null;
    const blocks = new RowBlocks(accumulators, columns);
    return sizeHint(rows) >= FEWEST_BLOCKS * blocks.rows ? blocks : null;
  }

  /** Has parts wait, takes them in place of those that accumulators have, or into them. `begin`: the first column. */
  pass(kind: 'share' | 'fetch' | 'merge', lane: string, begin: IndexExpr): ScheduledBody {
    const at = minus(variable(lane), begin);
    return this.accumulators.map((accumulator): ScheduledStmt => {
      const arrays = accumulator.reduction.part.map((_, i) => arrayOf(accumulator, i));
      return { kind, of: accumulator.name, arrays, at };
    });
  }
}

/** The operations by which parts are merged. */
function mergeOf({ merge }: Reduction): readonly string[] {
  return postorder(merge).flatMap((expr) => (expr.kind === 'op' ? expr.op : []));
}

function arrayOf({ name, reduction }: Accumulator, part: number): string {
  return `${name}.${reduction.part[part]!.name}`;
}
