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
import { elementType } from '../matmul/element-type.js';
import { epilogueFunction } from '../matmul/epilogue.js';
import { operandBase, type BatchEntry } from '../matmul/gemm.js';
import { decodeIndex, minimum, plus, scaled, sum } from '../matmul/index-code.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import {
  type BlockProduct,
  columnProduct,
  scoreProduct,
  valueProduct,
} from './attention-products.js';
import { BlockCode, type ColumnProduct, type RowBlock } from './block-code.js';
import { BlockPlaces } from './block-places.js';
import { columnPlace } from './column-sums.js';
import { finishFunction } from './finish-rows.js';
import { weighFunction } from './weigh-block.js';

/** Code of an attention kernel. @throws kernel-missing when sums have a type without vectors */
export function generateAttention(kernel: AttentionKernel<Size>, options: CodeOptions): WasmKernel {
  if (elementType(kernel.accDtype) === null || (kernel.softmax && kernel.weights.length > 1))
    throw new TesseraError(
      'kernel-missing',
      `Attention '${kernel.name}' has sums of type ${kernel.accDtype} or several softmaxes, for which the CPU has no code.`,
      { context: { kernel: kernel.name, dtype: kernel.accDtype } },
    );
  return new AttentionEmitter(kernel, kernelOptions(kernel, options)).emit();
}

class AttentionEmitter {
  readonly #f: WasmFunction;
  readonly #blocks;
  readonly #places: BlockPlaces;
  readonly #scores: readonly BlockProduct[];
  readonly #values: readonly BlockProduct[];
  readonly #columns: readonly ColumnProduct[];
  readonly #code: BlockCode;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    private readonly options: KernelOptions,
  ) {
    const blocks = attentionBlocks(kernel, CPU_TARGET.scratchBytes * 4);
    this.#f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
    this.#blocks = blocks;
    this.#scores = kernel.scores.map((_, p) => scoreProduct(kernel, p, blocks, options));
    this.#values = kernel.values.map((_, q) => valueProduct(kernel, q, blocks, options));
    this.#columns = kernel.columnSums.map((_, c) => {
      const place = columnPlace(kernel, c, options);
      return { ...columnProduct(kernel, c, blocks, options, place.rowBytes), place };
    });
    const columns = [...this.#scores, ...this.#values].map(({ b }) => b.scratchBytes);
    this.#places = new BlockPlaces(kernel, blocks, {
      rows: [...this.#scores.map(({ a }) => a), ...this.#columns.map(({ b }) => b)].map(
        ({ scratchBytes }) => scratchBytes,
      ),
      columns: Math.max(...columns),
    });
    this.#code = new BlockCode(this.#f, kernel, this.#places, (size) => this.#read(size));
  }

  emit(): WasmKernel {
    const { kernel, options } = this;
    const { batch, m, j, k, n, scores, values, triangle, name } = kernel;
    const { rows, columns } = this.#blocks;
    const blocks = sizeCeilDiv(extent(m), rows);
    const sumsColumns = this.#columns.length > 0;
    const items = sumsColumns ? 1 : blocks;
    if (sumsColumns)
      this.#eachItem(1, (item) => {
        const count = this.#count('blocks', blocks);
        this.#f.for('block', i32(0), count, 1, (block) => this.#rowBlock(item, block));
      });
    else this.#eachItem(blocks, (item, block) => this.#rowBlock(item, block));
    const [length, ...widths] = [extent(j), extent(k), extent(n)].map(sizeHint);
    const perPair =
      2 * (scores.length * widths[0]! + (values.length + this.#columns.length) * widths[1]!);
    return {
      name,
      func: this.#f,
      workItems: sizeProduct([extent(batch), items]),
      sizes: options.sizes.list,
      costPerItem:
        ((sumsColumns ? sizeHint(extent(m)) : rows) * length! * perPair) /
        (triangle === 'none' ? 40 : 80),
      scratchBytesPerThread: this.#places.bytes,
      schedule: () => ({
        kernel: name,
        facts: {
          'rows of a block': rows,
          'rows of a work item': sumsColumns ? 'all' : 'a block',
          'columns of a block': columns,
          'columns that are read': triangle === 'none' ? 'all' : `${triangle} triangle`,
          'scratch memory of a thread': `${this.#places.bytes} bytes`,
        },
      }),
    };
  }

  #read(size: Size): Code<'i32'> {
    return this.options.sizes.read(size, this.#f.param('args'));
  }

  /** A number of turns of a loop. */
  #count(name: string, size: Size): Local<'i32'> | number {
    return typeof size === 'number' ? size : this.#f.let(name, this.#read(size));
  }

  /** Runs `emit` for each work item, of which an entry of the batch has `items`. */
  #eachItem(items: Size, emit: (batch: BatchEntry, item: Local<'i32'>) => void): void {
    const f = this.#f;
    const read = (size: Size): Code<'i32'> => this.#read(size);
    f.for('item', f.param('begin'), f.param('end'), 1, (item) => {
      const isOne = items === 1;
      const flat = f.let('batch', isOne ? item : op('i32.div_u', item, read(items)));
      const block = f.let('block', isOne ? i32(0) : op('i32.rem_u', item, read(items)));
      emit({ flat, vars: decodeIndex(f, this.kernel.batch, flat, read) }, block);
    });
  }

  /** All of a block of rows. */
  #rowBlock(batch: BatchEntry, at: Local<'i32'>): void {
    const f = this.#f;
    const row = f.let('row', scaled(at, this.#blocks.rows));
    const left = op('i32.sub', this.#read(extent(this.kernel.m)), row);
    const rows = minimum(f, 'rows', i32(this.#blocks.rows), left);
    this.#walkColumns({ row, rows, batch });
    const range = [f.param('args'), batch.flat, row, rows] as const;
    if (this.kernel.softmax)
      f.do(call(finishFunction(this.kernel, this.#places, this.options), ...range, SCRATCH));
    const { problem } = this.#values[0]!;
    const epilogue = epilogueFunction(
      problem,
      this.#places.sumRow,
      problem.colCount as number,
      this.options,
      this.#places.sums,
    );
    f.do(call(epilogue, ...range, i32(0), this.#read(problem.colCount), SCRATCH));
  }

  /** Adds up the sums of a block of rows. */
  #walkColumns(block: RowBlock): void {
    const f = this.#f;
    const { j, triangle } = this.kernel;
    const last = extent(j.slice(-1));
    const outer = extent(j.slice(0, -1));
    const scores = this.#scores.map((score, p) => this.#code.prepareRows(score, p, block));
    const values = this.#values.map((value) => ({
      ...value,
      base: operandBase(f, value.problem, value.problem.b, block.batch),
    }));
    const summed = this.#columns.map((column, c) => this.#code.packValues(column, c, block));
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
    const turns = this.#count('turns', outer);
    f.for('outer', i32(0), turns, 1, (at) => {
      const first = f.let('first', op('i32.mul', at, this.#read(last)));
      const col = f.let('col', sum(first, start));
      const stop = f.let('col_end', sum(first, end));
      f.while(
        () => op('i32.lt_u', col, stop),
        () => {
          const count = i32(this.#blocks.columns);
          const cols = minimum(f, 'cols', count, op('i32.sub', stop, col));
          scores.forEach((score, p) => this.#code.score(score, p, block, col, cols));
          const { batch, row, rows } = block;
          f.do(call(weigh, f.param('args'), batch.flat, row, rows, col, cols, SCRATCH, more));
          values.forEach((value, q) => this.#code.add(value, q, block, col, cols, more));
          const place = f.let('place', op('i32.sub', col, first));
          this.#columns.forEach((column, c) =>
            this.#code.addColumns(column, c, summed[c]!, block, [at, place], cols),
          );
          f.set(more, i32(1));
          f.set(col, sum(col, cols));
        },
      );
    });
  }

  /** Nothing is summed yet. */
  #clear({ rows }: RowBlock): void {
    const f = this.#f;
    const { sums, sumRow } = this.#places;
    // A row of the upper triangle may have no columns.
    for (const offset of this.kernel.triangle === 'upper' ? sums : [])
      f.do(op('memory.fill', plus(SCRATCH, offset), i32(0), scaled(rows, sumRow)));
  }
}
