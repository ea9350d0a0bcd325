/**
 * @file Code of products of few rows with weights of fewer than 32 bits (`gemv-problem.ts`).
 *
 * A thread makes the values of a row once in a launch and keeps them in scratch memory; then for each item of columns the
 * sums are made by the code of the weights' format, and the stores are those of the kernel. Rows follow each other:
 * weights are taken apart for each again, which is still less than a product of floats takes.
 */
import { indexValues } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, memory, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { decodeIndex, minimum, plus, scaled, sum } from '../matmul/index-code.js';
import { KEPT, type WasmKernel } from '../wasm-kernel.js';
import { COLUMNS, ITEM } from './column-sums.js';
import { type GemvProblem, type GemvSum, gemvSpace } from './gemv-problem.js';
import { KeptRows, type RowPlaces, inScratch } from './kept-rows.js';
import { sumMethod } from './sum-method.js';

/** Time of one weight, in nanoseconds. */
const WEIGHT_NS = 0.1;

/** Bytes before an item's sums, for columns before it: a last call ends with the columns. */
const BEFORE = 4 * COLUMNS;

/** A sum of the problem, and the code that makes it. */
class MadeSum {
  readonly id: number;
  /** Where the sums of an item go, in bytes from the start of scratch memory. */
  readonly out: number;
  private readonly row: RowPlaces;
  private readonly apart: WasmFunction;
  private readonly near: WasmFunction;
  /** Columns of a call of either. */
  private readonly atOnce: number;
  /** For rows with values that are not finite. */
  private readonly exact: WasmFunction | null;

  constructor(
    { id, x, weight }: GemvSum,
    name: string,
    private readonly problem: GemvProblem,
    rows: KeptRows,
    options: KernelOptions,
  ) {
    const { kernel, loops } = problem;
    const method = sumMethod(weight, loops.depth, options);
    const { columns } = method;
    const target = { name, params: kernel.params, options, columns, apart: 1 };
    this.id = id;
    this.atOnce = columns;
    this.row = rows.of(x, method);
    this.out = rows.take(BEFORE + 4 * ITEM) + BEFORE;
    this.near = method.sums(target);
    this.apart = method.sums({ ...target, name: `${name}_apart`, apart: ITEM / columns });
    this.exact = method.notFinite?.({ ...target, columns: COLUMNS, name: `${name}_exact` }) ?? null;
  }

  /** Makes the sums of the item of columns from `first` on. */
  emit(f: WasmFunction, args: Code<'i32'>, first: Local<'i32'>): void {
    const { columns } = this.problem.loops;
    const { values, arranged, notFinite } = this.row;
    const sums = (func: WasmFunction, row: number, col: Local<'i32'>): void => {
      const place = scaled(op('i32.sub', col, first), 4);
      f.do(call(func, args, col, inScratch(row), sum(inScratch(this.out), place)));
    };
    const near = (func: WasmFunction, row: number, atOnce: number) => (): void => {
      const end = minimum(f, 'stop', sum(first, i32(ITEM)), i32(columns));
      const last = columns - atOnce;
      f.for('near', first, end, atOnce, (col) => {
        const start = select(i32(last), col, op('i32.gt_s', col, i32(last)));
        sums(func, row, f.let('start', start));
      });
    };
    const finite = (): void =>
      f.if(
        op('i32.le_s', first, i32(columns - ITEM)),
        () =>
          f.for('apart', first, f.let('stop', sum(first, i32(ITEM / this.atOnce))), 1, (col) =>
            sums(this.apart, arranged, col),
          ),
        near(this.near, arranged, this.atOnce),
      );
    if (this.exact === null) return finite();
    f.if(memory('i32.load', 0, inScratch(notFinite!)), near(this.exact, values, COLUMNS), finite);
  }
}

/** See the file header. */
export function generateGemv(problem: GemvProblem, options: KernelOptions): WasmKernel {
  const { kernel, loops, stores } = problem;
  const { columns, depth, row } = loops;
  const perRow = Math.ceil(columns / ITEM);
  const rows = new KeptRows(problem, options);
  const sums = problem.sums.map(
    (each, i) => new MadeSum(each, `${kernel.name}_sums${i}`, problem, rows, options),
  );

  const f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
  const body = new BodyEmitter(f, kernel, gemvSpace(kernel), options);
  const { scope } = body;
  const args = f.param('args');
  /** Stores columns from `col` on. */
  const store = (first: Local<'i32'>, col: Local<'i32'>, active: number): void => {
    const known = (size: Size): Code<'i32'> => body.size(size);
    for (const [name, local] of decodeIndex(f, loops.column, col, known)) scope.bind(name, local);
    const { name: lane } = loops.column.at(-1)!;
    scope.vectorise({ lane, across: lane, groups: 1, active }, () => {
      const place = f.let('place', scaled(op('i32.sub', col, first), 4));
      for (const { id, out } of sums) {
        const product = memory('v128.load', 0, sum(inScratch(out), place));
        scope.bindAcc(id, { kind: 'f32', uniform: false, regs: [f.let('product', product)] });
      }
      for (const stmt of stores) if (stmt.kind === 'store') body.store(stmt);
    });
  };
  const item = (): void => {
    const first = f.let('first', scaled(scope.variable('item'), ITEM));
    for (const made of sums) made.emit(f, args, first);
    const rest = columns % COLUMNS;
    const stop = minimum(f, 'whole', sum(first, i32(ITEM)), i32(columns - rest));
    scope.loop('block', first, stop, COLUMNS, () => store(first, scope.variable('block'), COLUMNS));
    if (rest > 0)
      f.if(op('i32.gt_s', first, i32(columns - ITEM)), () =>
        store(first, f.let('block', i32(columns - rest)), rest),
      );
  };
  const [begin, end] = [f.param('begin'), f.param('end')];
  const made = (number: Local<'i32'>): void => {
    const kept = f.let('kept', plus(number, 2));
    f.if(op('i32.ne', KEPT, kept), () => {
      rows.make(args, number).forEach((fill) => f.do(fill));
      f.setGlobal(KEPT, select(kept, i32(0), KEPT));
    });
  };
  if (row === null) {
    made(f.let('row', i32(0)));
    scope.loop('item', begin, end, 1, item);
  } else {
    const firstRow = f.let('first_row', op('i32.div_u', begin, i32(perRow)));
    const stopRow = f.let('stop_row', op('i32.div_u', sum(end, i32(perRow - 1)), i32(perRow)));
    scope.loop(row.name, firstRow, stopRow, 1, () => {
      const number = scope.variable(row.name);
      made(number);
      const before = f.let('before', scaled(number, perRow));
      const from = f.let('from', op('i32.sub', begin, before));
      const start = select(from, i32(0), op('i32.gt_s', from, i32(0)));
      const stop = minimum(f, 'stop_item', op('i32.sub', end, before), i32(perRow));
      scope.loop('item', f.let('start_item', start), stop, 1, item);
    });
  }
  const scatters = stores.some(
    (stmt) => stmt.kind === 'store' && indexValues(stmt.index).length > 0,
  );
  return {
    name: kernel.name,
    func: f,
    workItems: (row?.size ?? 1) * perRow,
    sizes: options.sizes.list,
    costPerItem: ITEM * depth * sums.length * WEIGHT_NS,
    scratchBytesPerThread: rows.bytes,
    ...(scatters && { needsSerial: true }),
    schedule: () => ({
      kernel: kernel.name,
      facts: {
        ...(row !== null && { rows: row.size }),
        'kept for all columns': `${depth} values of each row`,
        'columns of a work item': ITEM,
        weights: problem.sums.map(({ weight }) => weight.format).join(', '),
      },
    }),
  };
}
