/**
 * @file Where the tiles of a product go: straight to the output, or to scratch with an epilogue after.
 */
import { coefficientOf, roundUp, flatStride, stridesOf } from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import { call, memory } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { Blocking } from './blocking.js';
import type { ColumnBlock } from './column-blocks.js';
import { decodeIndex, plusSize, scaled, scaledBy, sum } from './index-code.js';
import type { MatmulProblem } from './problem.js';

/** A region of the result, in locals of the driver. */
export interface OutputRegion {
  readonly args: Local<'i32'>;
  readonly batch: Local<'i32'>;
  readonly row: Local<'i32'>;
  readonly rows: Local<'i32'>;
  readonly block: ColumnBlock;
}

/** A destination of tiles. */
export interface GemmOutput {
  /** Bytes from one row of the destination to the next. */
  readonly rowBytes: number;
  readonly scratchBytes: number;
  /** Whether each block of rows starts over at the region's first row (nothing has to wait for further blocks of k). */
  readonly reusesRows: boolean;
  /** Emits the address of the region's first element; `scratch` is where this output's scratch lies. */
  open(f: WasmFunction, region: OutputRegion & { readonly scratch: Local<'i32'> }): Local<'i32'>;
  /** Emits what follows the last block of k for a region whose sums begin at `c`. */
  finish(f: WasmFunction, region: OutputRegion & { readonly c: Local<'i32'> }): void;
}

/** Tiles go to the output itself; null unless the epilogue is one plain store of whole vectors of the product. */
export function directOutput(problem: MatmulProblem): GemmOutput | null {
  const { kernel, type } = problem;
  const [stmt, ...others] = kernel.epilogue;
  if (
    problem.depthCount === 0 ||
    others.length > 0 ||
    stmt?.kind !== 'store' ||
    stmt.value.kind !== 'acc'
  )
    return null;
  const parameter = kernel.params.findIndex(({ name }) => name === stmt.buf);
  const index = stridesOf(problem.space, stmt.index);
  if (index === null || kernel.params[parameter]?.dtype !== type.dtype) return null;
  const rowStride = flatStride(index, problem.rows);
  const colStride = flatStride(index, problem.cols);
  const { colCount } = problem;
  if (typeof rowStride !== 'number' || rowStride < 0 || colStride !== 1) return null;
  if (typeof colCount !== 'number' || colCount % type.lanes !== 0) return null;
  const { bytes } = type;
  return {
    rowBytes: rowStride * bytes,
    scratchBytes: 0,
    reusesRows: false,
    open(f, { args, batch, row, block }) {
      const read = (size: Size): Code<'i32'> => problem.sizes.read(size, args);
      let address: Code<'i32'> = plusSize(
        memory('i32.load', parameter * 4, args),
        sizeMul(index.constant, bytes),
        read,
      );
      for (const [name, local] of decodeIndex(f, problem.batch, batch, read)) {
        const stride = sizeMul(coefficientOf(index, name), bytes);
        address = sum(address, scaledBy(local, stride, read));
      }
      return f.let(
        'out',
        sum(sum(address, scaled(row, rowStride * bytes)), scaled(block.origin[0], bytes)),
      );
    },
    finish: () => {},
  };
}

/**
 * Tiles go to scratch, and an epilogue function stores from there: `(args, batch, row, rows, …block, c)`, made for rows
 * of scratch of so many bytes.
 */
export function scratchOutput(
  problem: MatmulProblem,
  blocking: Blocking,
  epilogueOf: (rowBytes: number) => WasmFunction,
): GemmOutput {
  const { type } = problem;
  const rowElements = roundUp(blocking.colBlock, 8) + (blocking.colBlock >= 128 ? 16 : 0);
  const rowBytes = rowElements * type.bytes;
  const { rowCount, depthCount } = problem;
  const reusesRows = typeof depthCount === 'number' && depthCount <= blocking.depthBlock;
  const rows = Math.min(
    reusesRows ? blocking.rowsPerItem : blocking.groupRows,
    typeof rowCount === 'number' ? roundUp(rowCount, blocking.tileRows) : Infinity,
  );
  const epilogue = epilogueOf(rowBytes);
  return {
    rowBytes,
    scratchBytes: rows * rowBytes + 64,
    reusesRows,
    open: (_f, { scratch }) => scratch,
    finish: (f, { args, batch, row, rows: count, block, c }) =>
      f.do(call(epilogue, args, batch, row, count, ...block.origin, ...block.extent, c)),
  };
}
