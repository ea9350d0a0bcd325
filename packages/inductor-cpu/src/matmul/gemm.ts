/**
 * @file The blocked matrix product: loops around the register tile.
 *
 * A call does the work items [begin, end). It walks them in groups that share a column block: for each
 * block of k it packs B once, then packs each block of A and multiplies. Partial sums of earlier blocks
 * of k wait where the results go: in the output itself when the epilogue only stores the product, else
 * in scratch, from which the epilogue reads after the last block of k.
 */
import { coefficientOf } from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import { call, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { SCRATCH } from '../wasm-kernel.js';
import { roundUp, type Blocking } from './blocking.js';
import type { ColumnBlock, ColumnBlocks } from './column-blocks.js';
import type { OperandAccess } from './gemm-operands.js';
import type { GemmOutput } from './gemm-output.js';
import {
  advance,
  countDown,
  decodeIndex,
  minimum,
  plus,
  plusSize,
  scaled,
  scaledBy,
  sum,
} from './index-code.js';
import type { MatmulProblem, Operand } from './problem.js';

/** Everything the driver puts together. */
export interface GemmParts {
  readonly problem: MatmulProblem;
  readonly blocking: Blocking;
  readonly columns: ColumnBlocks;
  readonly a: OperandAccess;
  readonly b: OperandAccess;
  readonly output: GemmOutput;
  /** Steps of k that a tile does in one round of its loop. */
  readonly stepsPerRound: number;
  /** The register tile `(a, b, c, rounds, accumulate)` of a shape. */
  readonly tile: (rows: number, vectors: number) => WasmFunction;
}

/** Bytes of scratch that one thread needs. */
export function gemmScratchBytes({ a, b, output }: GemmParts): number {
  return roundUp(a.scratchBytes, 64) + roundUp(b.scratchBytes, 64) + output.scratchBytes;
}

/** The kernel function; see the file header. */
export function gemmFunction(name: string, parts: GemmParts): WasmFunction {
  const { problem, blocking, columns, a, b, output } = parts;
  const tiles = new Tiles(parts.tile);
  const f = new WasmFunction(name, { args: 'i32', begin: 'i32', end: 'i32' });
  const args = f.param('args');
  const read = (size: Size): Code<'i32'> => problem.sizes.read(size, args);
  const item = f.param('begin');
  const end = f.param('end');
  const scratchA = f.let('scratch_a', SCRATCH);
  const scratchB = f.let('scratch_b', plus(scratchA, roundUp(a.scratchBytes, 64)));
  const scratchC = f.let('scratch_c', plus(scratchB, roundUp(b.scratchBytes, 64)));

  f.while(
    () => op('i32.lt_u', item, end),
    () => {
      const { rowItems, rowsPerItem, depthBlock, groupRows } = blocking;
      const rowItem = f.let('row_item', op('i32.rem_u', item, read(rowItems)));
      const column = f.let('column', op('i32.div_u', item, read(rowItems)));
      const batch = f.let('batch', op('i32.div_u', column, read(columns.items)));
      const left = minimum(
        f,
        'items',
        op('i32.sub', end, item),
        op('i32.sub', read(rowItems), rowItem),
      );
      const items = minimum(f, 'group', left, i32(groupRows / rowsPerItem));
      const row0 = f.let('row', scaled(rowItem, rowsPerItem));
      const rows = minimum(
        f,
        'rows',
        scaled(items, rowsPerItem),
        op('i32.sub', read(problem.rowCount), row0),
      );
      const block = columns.open(f, read, op('i32.rem_u', column, read(columns.items)));
      const bases = operandBases(f, problem, batch);
      const destination = output.open(f, {
        args,
        batch,
        row: row0,
        rows,
        block,
        scratch: scratchC,
      });

      const step = f.let('k', i32(0));
      f.loop((nextDepth) => {
        const steps = minimum(
          f,
          'steps',
          i32(depthBlock),
          op('i32.sub', read(problem.depthCount), step),
        );
        const bBlock = f.let(
          'b',
          b.prepare(
            f,
            { args, batch, base: bases.b, origin: block.origin, extent: block.extent, step, steps },
            scratchB,
          ),
        );
        const { stepsPerRound } = parts;
        const rounds =
          stepsPerRound === 1 ? steps : f.let('rounds', op('i32.div_u', steps, i32(stepsPerRound)));
        const accumulate = f.let('accumulate', op('i32.ne', step, i32(0)));
        const nextStep = f.let('next_k', sum(step, steps));
        const isLast = f.let('is_last', op('i32.ge_u', nextStep, read(problem.depthCount)));

        const row = f.let('row_block', row0);
        const rowsLeft = f.let('rows_left', rows);
        f.loop((nextRows) => {
          const blockRows = minimum(f, 'block_rows', rowsLeft, i32(rowsPerItem));
          const aBlock = f.let(
            'a',
            a.prepare(
              f,
              { args, batch, base: bases.a, origin: [row], extent: [blockRows], step, steps },
              scratchA,
            ),
          );
          const done = output.reusesRows ? i32(0) : op('i32.sub', row, row0);
          const c = f.let('c', sum(destination, scaled(done, output.rowBytes)));
          if (problem.depthCount !== 0)
            multiplyBlock(f, parts, tiles, {
              a: aBlock,
              b: bBlock,
              c,
              rows: blockRows,
              columns: block,
              rounds,
              accumulate,
            });
          // An empty sum is zero.
          else f.do(op('memory.fill', c, i32(0), scaled(blockRows, output.rowBytes)));
          f.if(isLast, () => output.finish(f, { args, batch, row, rows: blockRows, block, c }));
          f.set(row, sum(row, blockRows));
          f.brIf(nextRows, f.tee(rowsLeft, op('i32.sub', rowsLeft, blockRows)));
        });
        f.set(step, nextStep);
        f.brIf(nextDepth, op('i32.eqz', isLast));
      });
      f.set(item, sum(item, items));
    },
  );
  return f;
}

/** Addresses of the plain operands' elements (0, 0) in the current batch entry. */
function operandBases(
  f: WasmFunction,
  problem: MatmulProblem,
  batch: Local<'i32'>,
): { a: Local<'i32'>; b: Local<'i32'> } {
  const read = (size: Size): Code<'i32'> => problem.sizes.read(size, f.param('args'));
  const vars = decodeIndex(f, problem.batch, batch, read);
  const base = (operand: Operand): Local<'i32'> => {
    if (operand.plain === null) return batch;
    const { buf, index } = operand.plain;
    const { bytes } = problem.type;
    const parameter = problem.kernel.params.findIndex((param) => param.name === buf);
    let address: Code<'i32'> = plusSize(
      memory('i32.load', parameter * 4, f.param('args')),
      sizeMul(index.constant, bytes),
      read,
    );
    for (const [name, local] of vars) {
      const stride = coefficientOf(index, name);
      if (stride !== 0) address = sum(address, scaledBy(local, sizeMul(stride, bytes), read));
    }
    return f.let(`${operand.side}_base`, address);
  };
  return { a: base(problem.a), b: base(problem.b) };
}

/** One block: addresses of its operands and its destination, and its extents. */
interface Block {
  readonly a: Local<'i32'>;
  readonly b: Local<'i32'>;
  readonly c: Local<'i32'>;
  readonly rows: Local<'i32'>;
  readonly columns: ColumnBlock;
  readonly rounds: Local<'i32'>;
  readonly accumulate: Local<'i32'>;
}

/** All register tiles of a block, column by column so that a panel of B stays in the first-level cache. */
function multiplyBlock(f: WasmFunction, parts: GemmParts, tiles: Tiles, block: Block): void {
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
  parts: GemmParts,
  tiles: Tiles,
  block: Block,
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
class Tiles {
  readonly #made = new Map<string, WasmFunction>();
  readonly #make: GemmParts['tile'];

  constructor(make: GemmParts['tile']) {
    this.#make = make;
  }

  get(rows: number, vectors: number): WasmFunction {
    const key = `${rows}x${vectors}`;
    let tile = this.#made.get(key);
    if (tile === undefined) this.#made.set(key, (tile = this.#make(rows, vectors)));
    return tile;
  }
}
