/**
 * @file What is chosen for a recurrence: how many rows a work item has, and how many sums are in registers.
 */
import { extent, type RecurrenceKernel } from '@tessera/inductor-core';
import { sizeHint, type Size } from '@tessera/shared';

/** Units of a vector. */
export const UNITS = 4;

/** Sums that registers hold, beside weights and factors. */
const SUMS = 8;
/** Work items that there should be: enough for the threads of ordinary machines. */
const ITEMS = 8;
/** Rows of a work item at most: their arrays stay in a near cache. */
const MOST_ROWS = 16;

/** Time of a multiplication and addition, and of the rest of a unit at a step, in nanoseconds (measured, one thread). */
const TERM_NS = 0.05;
const UNIT_NS = 12;

/** See the file header. */
export interface RecurrencePlan {
  readonly units: number;
  /** Vectors that hold the units. */
  readonly blocks: number;
  readonly rowsOfItem: number;
  /** Rows and blocks whose sums are in registers together. */
  readonly tileRows: number;
  readonly tileBlocks: number;
  readonly costPerItem: number;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** The choices for a kernel. */
export function recurrencePlan({
  batch,
  step,
  n,
  products,
}: RecurrenceKernel<Size>): RecurrencePlan {
  const units = extent(n);
  const blocks = Math.ceil(units / UNITS);
  const rows = sizeHint(extent(batch));
  const tileBlocks = products.length === 1 && blocks % 2 === 0 ? 2 : 1;
  const most = Math.max(1, Math.floor(SUMS / (products.length * tileBlocks)));
  const tileRows = most >= 4 && rows >= 4 ? 4 : most >= 2 && rows >= 2 ? 2 : 1;
  const share = Math.ceil(rows / ITEMS / tileRows) * tileRows;
  const rowsOfItem = Math.max(tileRows, Math.min(MOST_ROWS, share));
  const terms = products.flat().length;
  const stepNs = units * (units * terms * TERM_NS + UNIT_NS);
  return {
    units,
    blocks,
    rowsOfItem,
    tileRows,
    tileBlocks,
    costPerItem: rowsOfItem * sizeHint(extent(step)) * stepNs,
    facts: {
      'a work item': `all steps of ${rowsOfItem} rows`,
      'tile of registers': `${tileRows} rows × ${tileBlocks} vectors × ${products.length} products`,
    },
  };
}
