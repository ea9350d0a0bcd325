/**
 * @file The columns of a product in blocks: stretches of the flattened columns, or tiles of an image.
 */
import type { Size } from '@tessera/shared';
import { i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { Blocking } from './blocking.js';
import { type ReadSize, minimum, scaled } from './index-code.js';
import type { MatmulProblem } from './problem.js';

/** A block, in locals of the driver. */
export interface ColumnBlock {
  /** Where it begins and how far it goes, as what packs it and what stores from it are told. */
  readonly origin: readonly Local<'i32'>[];
  readonly extent: readonly Local<'i32'>[];
  /** Columns of sums that are computed. */
  readonly lines: Local<'i32'>;
}

/** See the file header. */
export interface ColumnBlocks {
  /** Blocks of a batch entry. */
  readonly items: Size;
  /** Vectors of the tiles behind the last full one: as many as are needed, each so wide; or one as wide as is left. */
  readonly tail: 'one' | number;
  open(f: WasmFunction, read: ReadSize, item: Code<'i32'>): ColumnBlock;
}

/** Stretches of the flattened columns. */
export function flatColumns(problem: MatmulProblem, blocking: Blocking): ColumnBlocks {
  const { colItems, colBlock } = blocking;
  return {
    items: colItems,
    tail: 'one',
    open(f, read, item) {
      const col = f.let('col', scaled(item, colBlock));
      const cols = minimum(f, 'cols', i32(colBlock), op('i32.sub', read(problem.colCount), col));
      return { origin: [col], extent: [cols], lines: cols };
    },
  };
}
