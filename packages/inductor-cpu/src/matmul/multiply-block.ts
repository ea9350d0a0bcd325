/**
 * @file A block of a product: register tiles over its rows and columns, with the tails that its extents may have.
 */
import type { Size } from '@tessera/shared';
import { call, i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { Blocking } from './blocking.js';
import type { ColumnBlock, ColumnBlocks } from './column-blocks.js';
import type { ElementType } from './element-type.js';
import type { OperandAccess } from './gemm-operands.js';
import type { GemmOutput } from './gemm-output.js';
import { advance, countDown } from './index-code.js';

/** What is known of all blocks of a product. */
export interface TiledProduct {
  /** Extents, of which the tails of blocks are those of all; null where blocks end anywhere. */
  readonly problem: {
    readonly type: ElementType;
    readonly rowCount: Size | null;
    readonly colCount: Size | null;
  };
  readonly blocking: Pick<Blocking, 'tileRows' | 'tileVectors'>;
  readonly columns: Pick<ColumnBlocks, 'tail'>;
  readonly a: Pick<OperandAccess, 'strides'>;
  readonly b: Pick<OperandAccess, 'strides'>;
  readonly output: Pick<GemmOutput, 'rowBytes'>;
}

/** One block: addresses of its operands and its destination, and its extents. */
export interface TiledBlock {
  readonly a: Local<'i32'>;
  readonly b: Local<'i32'>;
  readonly c: Local<'i32'>;
  readonly rows: Local<'i32'>;
  readonly columns: Pick<ColumnBlock, 'lines'>;
  readonly rounds: Local<'i32'>;
  readonly accumulate: Local<'i32'>;
}

/** All register tiles of a block, column by column so that a panel of B stays in the first-level cache. */
export function multiplyBlock(
  f: WasmFunction,
  parts: TiledProduct,
  tiles: Tiles,
  block: TiledBlock,
): void {
  const { problem, blocking, columns, b } = parts;
  const { lanes, bytes } = problem.type;
  const tileCols = blocking.tileVectors * lanes;
  const { colCount } = problem;
  // Columns beyond a symbolic number of them go to padding.
  const tailVectors =
    typeof colCount === 'number' ? Math.ceil((colCount % tileCols) / lanes) : blocking.tileVectors;
  const tileB = f.let('tile_b', block.b);
  const tileC = f.let('tile_c', block.c);
  const left = f.let('cols_left', block.columns.lines);
  if (columns.tail !== 'one' || typeof colCount !== 'number' || colCount >= tileCols) {
    countDown(f, left, tileCols, () => {
      multiplyColumn(f, parts, tiles, block, tileB, tileC, blocking.tileVectors);
      advance(f, tileB, b.strides.tile);
      advance(f, tileC, tileCols * bytes);
    });
  }
  if (columns.tail !== 'one') {
    const tailBytes = columns.tail * lanes * bytes;
    f.while(
      () => op('i32.gt_s', left, i32(0)),
      () => {
        multiplyColumn(f, parts, tiles, block, tileB, tileC, columns.tail as number);
        advance(f, tileB, tailBytes);
        advance(f, tileC, tailBytes);
        advance(f, left, -columns.tail * lanes);
      },
    );
  } else if (tailVectors > 0)
    f.if(left, () => multiplyColumn(f, parts, tiles, block, tileB, tileC, tailVectors));
}

/** The tiles of one panel of B. */
function multiplyColumn(
  f: WasmFunction,
  parts: TiledProduct,
  tiles: Tiles,
  block: TiledBlock,
  b: Local<'i32'>,
  columnC: Local<'i32'>,
  vectors: number,
): void {
  const { problem, blocking, a } = parts;
  const { tileRows } = blocking;
  const { rowCount } = problem;
  const tileA = f.let('tile_a', block.a);
  const tileC = f.let('tile_c', columnC);
  const left = f.let('rows_left', block.rows);
  const tile = (rows: number): Code => {
    return call(tiles.get(rows, vectors), tileA, b, tileC, block.rounds, block.accumulate);
  };
  if (typeof rowCount !== 'number' || rowCount >= tileRows) {
    countDown(f, left, tileRows, () => {
      f.do(tile(tileRows));
      advance(f, tileA, a.strides.tile);
      advance(f, tileC, tileRows * parts.output.rowBytes);
    });
  }
  if (typeof rowCount !== 'number') {
    for (let rows = 1; rows < tileRows; rows++)
      f.if(op('i32.eq', left, i32(rows)), () => f.do(tile(rows)));
  } else if (rowCount % tileRows > 0) f.if(left, () => f.do(tile(rowCount % tileRows)));
}

/** The register tiles of a kernel, each shape made once. */
export class Tiles {
  readonly #made = new Map<string, WasmFunction>();
  readonly #make: (rows: number, vectors: number) => WasmFunction;

  constructor(make: (rows: number, vectors: number) => WasmFunction) {
    this.#make = make;
  }

  get(rows: number, vectors: number): WasmFunction {
    const key = `${rows}x${vectors}`;
    let tile = this.#made.get(key);
    if (tile === undefined) this.#made.set(key, (tile = this.#make(rows, vectors)));
    return tile;
  }
}
