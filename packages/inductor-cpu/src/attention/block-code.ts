/**
 * @file The multiplications of one block of attention, of which rows and columns are in locals.
 */
import type { AttentionKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { i32, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { type BatchEntry, operandBase } from '../matmul/gemm.js';
import { type ReadSize, decodeIndex, plus } from '../matmul/index-code.js';
import { multiplyBlock } from '../matmul/multiply-block.js';
import { SCRATCH } from '../wasm-kernel.js';
import type { BlockProduct } from './attention-products.js';
import type { BlockPlaces } from './block-places.js';
import { type ColumnPlace, columnAddress } from './column-sums.js';

/** A block of rows, in locals. */
export interface RowBlock {
  readonly batch: BatchEntry;
  readonly row: Local<'i32'>;
  readonly rows: Local<'i32'>;
}

/** A product with the address of what its columns are made of. */
export interface PreparedProduct extends BlockProduct {
  readonly base: Local<'i32'>;
}

/** A score whose rows are ready. */
export interface PreparedScore extends PreparedProduct {
  readonly rowsAt: Local<'i32'>;
}

/** Sums of columns, with where they go. */
export interface ColumnProduct extends BlockProduct {
  readonly place: ColumnPlace;
}

/** See the file header. */
export class BlockCode {
  constructor(
    private readonly f: WasmFunction,
    private readonly kernel: AttentionKernel<Size>,
    private readonly places: BlockPlaces,
    private readonly read: ReadSize,
  ) {}

  /** What is the same for all columns: packed rows, and where the columns begin. */
  prepareRows(product: BlockProduct, p: number, block: RowBlock): PreparedScore {
    const f = this.f;
    const { problem, a } = product;
    const { batch, row, rows } = block;
    const base = operandBase(f, problem, problem.b, batch);
    const range = {
      args: f.param('args'),
      batch: batch.flat,
      base: operandBase(f, problem, problem.a, batch),
      origin: [row],
      extent: [rows],
      step: f.let('step', i32(0)),
      steps: f.let('steps', this.read(problem.depthCount)),
    };
    const scratch = f.let('rows_scratch', plus(SCRATCH, this.places.packedRows[p]!));
    return { ...product, base, rowsAt: f.let('rows_at', a.prepare(f, range, scratch)) };
  }

  /** Values of the rows, which column sums multiply with weights. */
  packValues(
    { problem, b }: BlockProduct,
    c: number,
    { batch, row, rows }: RowBlock,
  ): Local<'i32'> {
    const f = this.f;
    const range = {
      args: f.param('args'),
      batch: batch.flat,
      base: operandBase(f, problem, problem.b, batch),
      origin: [f.let('first_value', i32(0))],
      extent: [f.let('width', this.read(problem.colCount))],
      step: row,
      steps: rows,
    };
    const scratch = f.let(
      'values_scratch',
      plus(SCRATCH, this.places.packedRows[this.kernel.scores.length + c]!),
    );
    return f.let('values_at', b.prepare(f, range, scratch));
  }

  /** Multiplies scores of a block. */
  score(
    { problem, b, base, rowsAt, tiled, tiles }: PreparedScore,
    p: number,
    { batch, rows }: RowBlock,
    col: Local<'i32'>,
    cols: Local<'i32'>,
  ): void {
    const f = this.f;
    const step = f.let('step', i32(0));
    const steps = f.let('steps', this.read(problem.depthCount));
    const range = {
      args: f.param('args'),
      batch: batch.flat,
      base,
      origin: [col],
      extent: [cols],
      step,
      steps,
    };
    const scratch = f.let('columns_scratch', plus(SCRATCH, this.places.packedColumns));
    const columns = f.let('columns_at', b.prepare(f, range, scratch));
    const c = f.let('c', plus(SCRATCH, p * this.places.arrayBytes));
    multiplyBlock(f, tiled, tiles, {
      a: rowsAt,
      b: columns,
      c,
      rows,
      columns: { lines: cols },
      rounds: steps,
      accumulate: f.let('accumulate', i32(0)),
    });
  }

  /** Adds the values of a block, weighed. */
  add(
    { problem, b, base, tiled, tiles }: PreparedProduct,
    q: number,
    { batch, rows }: RowBlock,
    col: Local<'i32'>,
    cols: Local<'i32'>,
    more: Local<'i32'>,
  ): void {
    const f = this.f;
    const width = f.let('width', this.read(problem.colCount));
    const first = f.let('first_value', i32(0));
    const range = {
      args: f.param('args'),
      batch: batch.flat,
      base,
      origin: [first],
      extent: [width],
      step: col,
      steps: cols,
    };
    const scratch = f.let('columns_scratch', plus(SCRATCH, this.places.packedColumns));
    multiplyBlock(f, tiled, tiles, {
      a: f.let('weights', plus(SCRATCH, q * this.places.arrayBytes)),
      b: f.let('values', b.prepare(f, range, scratch)),
      c: f.let('c', plus(SCRATCH, this.places.sums[q]!)),
      rows,
      columns: { lines: width },
      rounds: cols,
      accumulate: more,
    });
  }

  /** Adds the rows of a block to sums of its columns, of which the first is at `column`, by the variables of j. */
  addColumns(
    { problem, place, tiled, tiles }: ColumnProduct,
    c: number,
    values: Local<'i32'>,
    { batch, row, rows }: RowBlock,
    [outer, last]: readonly [Local<'i32'>, Local<'i32'>],
    cols: Local<'i32'>,
  ): void {
    const f = this.f;
    const { read } = this;
    const { j, columnSums } = this.kernel;
    const columns = decodeIndex(f, j.slice(0, -1), outer, read);
    for (const { name } of j.slice(-1)) columns.set(name, last);
    multiplyBlock(f, tiled, tiles, {
      a: f.let('weights', plus(SCRATCH, columnSums[c]!.weight * this.places.arrayBytes)),
      b: values,
      c: columnAddress(f, place, batch, columns, read),
      rows: cols,
      columns: { lines: f.let('width', read(problem.colCount)) },
      rounds: rows,
      accumulate: f.let('accumulate', op('i32.ne', row, i32(0))),
    });
  }
}
