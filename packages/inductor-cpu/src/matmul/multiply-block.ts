/**
 * @file A block of a product: register tiles over its rows and columns, with the tails that its extents may have.
 */
import type { BlockProduct } from '@tessera/inductor-core';
import { call, i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { ElementType } from './element-type.js';
import type { OperandAccess } from './gemm-operands.js';
import { advance, countDown } from './index-code.js';

/** What is known of all blocks of a product. */
export interface TiledProduct extends Pick<BlockProduct, 'tile' | 'ends'> {
  readonly type: ElementType;
  readonly a: Pick<OperandAccess, 'strides'>;
  readonly b: Pick<OperandAccess, 'strides'>;
  /** From a row of results to the next. */
  readonly rowBytes: number;
  readonly tiles: Tiles;
}

/** One block: addresses of its operands and its destination, and its extents. */
export interface TiledBlock {
  readonly a: Local<'i32'>;
  readonly b: Local<'i32'>;
  readonly c: Local<'i32'>;
  readonly rows: Local<'i32'>;
  readonly columns: Local<'i32'>;
  readonly rounds: Local<'i32'>;
  readonly accumulate: Local<'i32'>;
}

/** All register tiles of a block, column by column so that a panel of B stays in the first-level cache. */
export function multiplyBlock(f: WasmFunction, product: TiledProduct, block: TiledBlock): void {
  const { tile, ends, b } = product;
  const { lanes, bytes } = product.type;
  const tileCols = tile.vectors * lanes;
  const [, colCount] = ends;
  // Columns beyond a symbolic number of them go to padding.
  const tailVectors =
    typeof colCount === 'number' ? Math.ceil((colCount % tileCols) / lanes) : tile.vectors;
  const tileB = f.let('tile_b', block.b);
  const tileC = f.let('tile_c', block.c);
  const left = f.let('cols_left', block.columns);
  if (tile.tail !== undefined || typeof colCount !== 'number' || colCount >= tileCols) {
    countDown(f, left, tileCols, () => {
      multiplyColumn(f, product, block, tileB, tileC, tile.vectors);
      advance(f, tileB, b.strides.tile);
      advance(f, tileC, tileCols * bytes);
    });
  }
  const { tail } = tile;
  if (tail !== undefined) {
    const tailBytes = tail * lanes * bytes;
    f.while(
      () => op('i32.gt_s', left, i32(0)),
      () => {
        multiplyColumn(f, product, block, tileB, tileC, tail);
        advance(f, tileB, tailBytes);
        advance(f, tileC, tailBytes);
        advance(f, left, -tail * lanes);
      },
    );
  } else if (tailVectors > 0)
    f.if(left, () => multiplyColumn(f, product, block, tileB, tileC, tailVectors));
}

/** The tiles of one panel of B. */
function multiplyColumn(
  f: WasmFunction,
  { tile: { rows: tileRows }, ends, a, rowBytes, tiles }: TiledProduct,
  block: TiledBlock,
  b: Local<'i32'>,
  columnC: Local<'i32'>,
  vectors: number,
): void {
  const [rowCount] = ends;
  const tileA = f.let('tile_a', block.a);
  const tileC = f.let('tile_c', columnC);
  const left = f.let('rows_left', block.rows);
  const tile = (rows: number): Code =>
    call(tiles(rows, vectors), tileA, b, tileC, block.rounds, block.accumulate);
  if (typeof rowCount !== 'number' || rowCount >= tileRows) {
    countDown(f, left, tileRows, () => {
      f.do(tile(tileRows));
      advance(f, tileA, a.strides.tile);
      advance(f, tileC, tileRows * rowBytes);
    });
  }
  if (typeof rowCount !== 'number') {
    for (let rows = 1; rows < tileRows; rows++)
      f.if(op('i32.eq', left, i32(rows)), () => f.do(tile(rows)));
  } else if (rowCount % tileRows > 0) f.if(left, () => f.do(tile(rowCount % tileRows)));
}

/** The register tiles of a kernel, by rows and vectors; each shape is made once. */
export type Tiles = (rows: number, vectors: number) => WasmFunction;

/** Makes each shape when it is first asked for. */
export function tilesOf(make: Tiles): Tiles {
  const made = new Map<string, WasmFunction>();
  return (rows, vectors) => {
    const key = `${rows}x${vectors}`;
    if (!made.has(key)) made.set(key, make(rows, vectors));
    return made.get(key)!;
  };
}
