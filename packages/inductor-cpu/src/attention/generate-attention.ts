/**
 * @file Attention and its gradients: a work item is a block of rows, which goes through the columns a block at a time.
 *
 * Scores of a block are multiplied into scratch memory, weighed there, and multiplied with the values; sums of a block of
 * rows wait in scratch memory, too. How large blocks are says `attentionBlocks` (inductor-core).
 */
import { attentionBlocks, extent, type AttentionKernel } from '@tessera/inductor-core';
import { type Size, TesseraError, sizeCeilDiv, sizeHint, sizeProduct } from '@tessera/shared';
import { kernelOptions, type KernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { call, i32, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import { roundUp } from '../matmul/blocking.js';
import { elementType } from '../matmul/element-type.js';
import { epilogueFunction } from '../matmul/epilogue.js';
import { operandBase, type BatchEntry } from '../matmul/gemm.js';
import { decodeIndex, minimum, plus, scaled, sum } from '../matmul/index-code.js';
import { multiplyBlock } from '../matmul/multiply-block.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import { type BlockProduct, scoreProduct, valueProduct } from './attention-products.js';
import { BlockPlaces } from './block-places.js';
import { finishFunction } from './finish-rows.js';
import { weighFunction } from './weigh-block.js';

/** Code of an attention kernel. @throws kernel-missing when sums have a type without vectors */
export function generateAttention(
  kernel: AttentionKernel<Size>,
  options: CodeOptions,
): WasmKernel {
  if (elementType(kernel.accDtype) === null || (kernel.softmax && kernel.weights.length > 1))
    throw new TesseraError(
      'kernel-missing',
      `Attention '${kernel.name}' has sums of type ${kernel.accDtype} or several softmaxes, for which the CPU has no code.`,
      { context: { kernel: kernel.name, dtype: kernel.accDtype } },
    );
  return new AttentionEmitter(kernel, kernelOptions(kernel, options)).emit();
}

/** A block of rows, in locals. */
interface RowBlock {
  readonly batch: BatchEntry;
  readonly row: Local<'i32'>;
  readonly rows: Local<'i32'>;
}

class AttentionEmitter {
  readonly #f: WasmFunction;
  readonly #blocks;
  readonly #places: BlockPlaces;
  readonly #scores: readonly BlockProduct[];
  readonly #values: readonly BlockProduct[];
  /** Where packed rows of each score are, and then packed columns of one product after the other, behind the places. */
  readonly #packedRows: readonly number[];
  readonly #packedColumns: number;
  readonly #bytes: number;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    private readonly options: KernelOptions,
  ) {
    const blocks = attentionBlocks(kernel, CPU_TARGET.scratchBytes * 4);
    this.#f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
    this.#blocks = blocks;
    this.#places = new BlockPlaces(kernel, blocks);
    this.#scores = kernel.scores.map((_, p) => scoreProduct(kernel, p, blocks, options));
    this.#values = kernel.values.map((_, q) => valueProduct(kernel, q, blocks, options));
    let bytes = roundUp(this.#places.bytes, 64);
    this.#packedRows = this.#scores.map(({ a }) => {
      const at = bytes;
      bytes += roundUp(a.scratchBytes, 64);
      return at;
    });
    this.#packedColumns = bytes;
    const columns = [...this.#scores, ...this.#values].map(({ b }) => b.scratchBytes);
    this.#bytes = bytes + Math.max(...columns) + 64;
  }

  emit(): WasmKernel {
    const { kernel, options } = this;
    const { batch, m, j, k, n, scores, values, triangle, name } = kernel;
    const { rows, columns } = this.#blocks;
    const items = sizeCeilDiv(extent(m), rows);
    this.#emitItems(items);
    const [length, ...widths] = [extent(j), extent(k), extent(n)].map(sizeHint);
    const perPair = 2 * (scores.length * widths[0]! + values.length * widths[1]!);
    return {
      name,
      func: this.#f,
      workItems: sizeProduct([extent(batch), items]),
      sizes: options.sizes.list,
      costPerItem: (rows * length! * perPair) / (triangle === 'none' ? 40 : 80),
      scratchBytesPerThread: this.#bytes,
      schedule: () => ({
        kernel: name,
        facts: {
          'rows of a work item': rows,
          'columns of a block': columns,
          'columns that are read': triangle === 'none' ? 'all' : `${triangle} triangle`,
          'scratch memory of a thread': `${this.#bytes} bytes`,
        },
      }),
    };
  }

  #read(size: Size): Code<'i32'> {
    return this.options.sizes.read(size, this.#f.param('args'));
  }

  #emitItems(items: Size): void {
    const f = this.#f;
    const { m, batch } = this.kernel;
    const finish = this.kernel.softmax
      ? finishFunction(this.kernel, this.#places, this.options)
      : null;
    const { problem } = this.#values[0]!;
    const epilogue = epilogueFunction(
      problem,
      this.#places.sumRow,
      problem.colCount as number,
      this.options,
      this.#places.sums,
    );
    const read = (size: Size): Code<'i32'> => this.#read(size);
    f.for('item', f.param('begin'), f.param('end'), 1, (item) => {
      const flat = f.let('batch', op('i32.div_u', item, read(items)));
      const row = f.let('row', scaled(op('i32.rem_u', item, read(items)), this.#blocks.rows));
      const left = op('i32.sub', read(extent(m)), row);
      const rows = minimum(f, 'rows', i32(this.#blocks.rows), left);
      const block = { row, rows, batch: { flat, vars: decodeIndex(f, batch, flat, read) } };
      this.#walkColumns(block);
      const args = f.param('args');
      if (finish !== null) f.do(call(finish, args, flat, row, rows, SCRATCH));
      const [col, cols] = [i32(0), read(problem.colCount)];
      f.do(call(epilogue, args, flat, row, rows, col, cols, SCRATCH));
    });
  }

  /** Adds up the sums of a block of rows. */
  #walkColumns(block: RowBlock): void {
    const f = this.#f;
    const { j, triangle } = this.kernel;
    const last = extent(j.slice(-1));
    const outer = extent(j.slice(0, -1));
    const products = [...this.#scores, ...this.#values].map((product) =>
      this.#prepareRows(product, block),
    );
    const [scores, values] = [
      products.slice(0, this.#scores.length),
      products.slice(this.#scores.length),
    ];
    const weigh = weighFunction(this.kernel, this.#places, this.options);
    this.#clear(block);
    const more = f.let('more', i32(0));
    const start = f.let('start', i32(0));
    const end = f.let('stop', this.#read(last));
    if (triangle === 'lower') {
      const limit = f.let('limit', sum(block.row, block.rows));
      f.set(end, select(limit, end, op('i32.lt_u', limit, end)));
    } else if (triangle === 'upper')
      f.set(start, select(block.row, end, op('i32.lt_u', block.row, end)));
    const turns = typeof outer === 'number' ? outer : f.let('turns', this.#read(outer));
    f.for('outer', i32(0), turns, 1, (at) => {
      const first = f.let('first', op('i32.mul', at, this.#read(last)));
      const col = f.let('col', sum(first, start));
      const stop = f.let('col_end', sum(first, end));
      f.while(
        () => op('i32.lt_u', col, stop),
        () => {
          const count = i32(this.#blocks.columns);
          const cols = minimum(f, 'cols', count, op('i32.sub', stop, col));
          scores.forEach((score, p) => this.#score(score, p, block, col, cols));
          const { batch, row, rows } = block;
          f.do(call(weigh, f.param('args'), batch.flat, row, rows, col, cols, SCRATCH, more));
          values.forEach((value, q) => this.#add(value, q, block, col, cols, more));
          f.set(more, i32(1));
          f.set(col, sum(col, cols));
        },
      );
    });
  }

  /** What is the same for all columns: packed rows, and where the columns begin. */
  #prepareRows(product: BlockProduct, block: RowBlock): PreparedProduct {
    const f = this.#f;
    const { problem, a } = product;
    const base = operandBase(f, problem, problem.b, block.batch);
    const p = this.#scores.indexOf(product);
    if (p < 0) return { ...product, base, rowsAt: null };
    const { batch, row, rows } = block;
    const range = {
      args: f.param('args'),
      batch: batch.flat,
      base: operandBase(f, problem, problem.a, batch),
      origin: [row],
      extent: [rows],
      step: f.let('step', i32(0)),
      steps: f.let('steps', this.#read(problem.depthCount)),
    };
    const scratch = f.let('rows_scratch', plus(SCRATCH, this.#packedRows[p]!));
    return { ...product, base, rowsAt: f.let('rows_at', a.prepare(f, range, scratch)) };
  }

  /** Nothing is summed yet. */
  #clear({ rows }: RowBlock): void {
    const f = this.#f;
    const { sums, sumRow } = this.#places;
    // A row of the upper triangle may have no columns.
    for (const offset of this.kernel.triangle === 'upper' ? sums : [])
      f.do(op('memory.fill', plus(SCRATCH, offset), i32(0), scaled(rows, sumRow)));
  }

  /** Multiplies scores of a block. */
  #score(
    { problem, b, base, rowsAt, tiled, tiles }: PreparedProduct,
    p: number,
    { batch, rows }: RowBlock,
    col: Local<'i32'>,
    cols: Local<'i32'>,
  ): void {
    const f = this.#f;
    const step = f.let('step', i32(0));
    const steps = f.let('steps', this.#read(problem.depthCount));
    const range = {
      args: f.param('args'),
      batch: batch.flat,
      base,
      origin: [col],
      extent: [cols],
      step,
      steps,
    };
    const scratch = f.let('columns_scratch', plus(SCRATCH, this.#packedColumns));
    const columns = f.let('columns_at', b.prepare(f, range, scratch));
    const c = f.let('c', plus(SCRATCH, p * this.#places.arrayBytes));
    multiplyBlock(f, tiled, tiles, {
      a: rowsAt!,
      b: columns,
      c,
      rows,
      columns: { lines: cols },
      rounds: steps,
      accumulate: f.let('accumulate', i32(0)),
    });
  }

  /** Adds the values of a block, weighed. */
  #add(
    { problem, b, base, tiled, tiles }: PreparedProduct,
    q: number,
    { batch, rows }: RowBlock,
    col: Local<'i32'>,
    cols: Local<'i32'>,
    more: Local<'i32'>,
  ): void {
    const f = this.#f;
    const width = f.let('width', this.#read(problem.colCount));
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
    const scratch = f.let('columns_scratch', plus(SCRATCH, this.#packedColumns));
    multiplyBlock(f, tiled, tiles, {
      a: f.let('weights', plus(SCRATCH, q * this.#places.arrayBytes)),
      b: f.let('values', b.prepare(f, range, scratch)),
      c: f.let('c', plus(SCRATCH, this.#places.sums[q]!)),
      rows,
      columns: { lines: width },
      rounds: cols,
      accumulate: more,
    });
  }
}

/** A product whose rows are ready. */
interface PreparedProduct extends BlockProduct {
  /** Address of what its columns are made of. */
  readonly base: Local<'i32'>;
  readonly rowsAt: Local<'i32'> | null;
}
