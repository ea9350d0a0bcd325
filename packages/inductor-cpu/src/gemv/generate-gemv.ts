/**
 * @file Code of products of one row with weights of fewer than 32 bits (`gemv-problem.ts`).
 *
 * A work item is four columns. Each call makes the values of x once and keeps them in scratch memory; then for each
 * block the sums are made by the code of the weights' format, and the stores are those of the kernel.
 */
import type { BufferParam, Expr } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, memory, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { decodeIndex, scaled, sum } from '../matmul/index-code.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import { COLUMNS } from './column-sums.js';
import { type GemvProblem, type GemvSum, gemvSpace } from './gemv-problem.js';
import { HALF_FACTOR, bfloatSums, halfSums } from './half-sums.js';
import { type KeptOrder, keptVector } from './kept-vector.js';
import type { NarrowWeight } from './narrow-weight.js';
import { PART_FACTORS, groupSumBytes, groupSums, int4Sums, int8Sums } from './word-sums.js';

/** Time of one weight, in nanoseconds. */
const WEIGHT_NS = 0.13;

/** How a format takes the values of x. */
function orderOf({ format }: NarrowWeight): KeptOrder {
  if (format === 'int4') return { inParts: true, factors: PART_FACTORS };
  const factor = format === 'float16' ? HALF_FACTOR : 1;
  return { inParts: false, factors: Array<number>(8).fill(factor) };
}

function sumsFunction(
  name: string,
  weight: NarrowWeight,
  params: readonly BufferParam[],
  depth: number,
  options: KernelOptions,
): WasmFunction {
  switch (weight.format) {
    case 'float16':
      return halfSums(name, params, weight.row, depth, options);
    case 'bfloat16':
      return bfloatSums(name, params, weight.row, depth, options);
    case 'int8':
      return int8Sums(name, params, weight, depth, options);
    case 'int4':
      return int4Sums(name, params, weight, depth, options);
  }
}

/** Values of x in scratch memory that several sums may share. */
interface KeptRow {
  readonly x: Expr;
  readonly key: string;
  /** Bytes from the start of scratch memory. */
  readonly at: number;
}

/** Functions that fill rows, and where the rows lie. */
class KeptRows {
  readonly fills: [WasmFunction, number][] = [];
  bytes = 0;
  private readonly rows: KeptRow[] = [];

  constructor(
    private readonly problem: GemvProblem,
    private readonly options: KernelOptions,
  ) {}

  /** Bytes from the start of scratch memory to the row of a sum. */
  of({ x, weight }: GemvSum): number {
    const { kernel, loops } = this.problem;
    const order = orderOf(weight);
    const group = weight.format === 'int4' ? weight.scales.group : 0;
    const key = `${weight.format} ${group}`;
    const known = this.rows.find((row) => row.x === x && row.key === key);
    if (known !== undefined) return known.at;
    const at = this.take(4 * loops.depth);
    this.rows.push({ x, key, at });
    const name = `${kernel.name}_row${this.rows.length}`;
    this.fills.push([keptVector(name, this.problem, x, order, this.options), at]);
    if (weight.format === 'int4') {
      this.take(groupSumBytes(weight, loops.depth));
      this.fills.push([groupSums(`${name}_groups`, weight, loops.depth), at]);
    }
    return at;
  }

  take(bytes: number): number {
    const at = this.bytes;
    this.bytes += bytes;
    return at;
  }
}

const inScratch = (at: number): Code<'i32'> => sum(SCRATCH, i32(at));

/** See the file header. */
export function generateGemv(problem: GemvProblem, options: KernelOptions): WasmKernel {
  const { kernel, loops, stores } = problem;
  const { columns, depth } = loops;
  const rows = new KeptRows(problem, options);
  const sums = problem.sums.map((each, i) => ({
    id: each.id,
    row: rows.of(each),
    make: sumsFunction(`${kernel.name}_sums${i}`, each.weight, kernel.params, depth, options),
    // A last block begins so that it ends with the columns: its sums stand further behind.
    out: rows.take(32),
  }));

  const f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
  const body = new BodyEmitter(f, kernel, gemvSpace(kernel), options);
  const { scope } = body;
  const args = f.param('args');
  for (const [fill, at] of rows.fills) f.do(call(fill, args, inScratch(at)));
  const emit = (block: Local<'i32'>, active: number): void => {
    const col = f.let('col', scaled(block, COLUMNS));
    const last = columns - COLUMNS;
    const start =
      active === COLUMNS
        ? col
        : f.let('start', select(i32(last), col, op('i32.gt_s', col, i32(last))));
    const behind = f.let('behind', scaled(op('i32.sub', col, start), 4));
    for (const { make, row, out } of sums)
      f.do(call(make, args, start, inScratch(row), inScratch(out)));
    const known = (size: Size): Code<'i32'> => body.size(size);
    for (const [name, local] of decodeIndex(f, loops.column, col, known)) scope.bind(name, local);
    const { name: lane } = loops.column.at(-1)!;
    const lanes = { lane, across: lane, groups: 1, active };
    scope.vectorise(lanes, () => {
      for (const { id, out } of sums) {
        const product = memory('v128.load', 0, sum(inScratch(out), behind));
        scope.bindAcc(id, { kind: 'f32', uniform: false, regs: [f.let('product', product)] });
      }
      for (const stmt of stores) if (stmt.kind === 'store') body.store(stmt);
    });
  };
  const scatters = stores.some(
    (stmt) =>
      stmt.kind === 'store' &&
      loops.space.affine(stmt.index).atoms.some(({ kind }) => kind === 'value'),
  );
  const whole = Math.floor(columns / COLUMNS);
  const [begin, end] = [f.param('begin'), f.param('end')];
  const middle = f.let('middle', select(i32(whole), end, op('i32.gt_u', end, i32(whole))));
  scope.loop('block', begin, middle, 1, () => emit(scope.variable('block'), COLUMNS));
  if (columns % COLUMNS > 0)
    scope.loop('block', middle, end, 1, () => emit(scope.variable('block'), columns % COLUMNS));
  return {
    name: kernel.name,
    func: f,
    workItems: Math.ceil(columns / COLUMNS),
    sizes: [],
    costPerItem: COLUMNS * depth * sums.length * WEIGHT_NS,
    scratchBytesPerThread: rows.bytes + 16,
    ...(scatters && { needsSerial: true }),
    schedule: () => ({
      kernel: kernel.name,
      facts: {
        'kept for all columns': `${depth} values of each row`,
        'columns of a work item': COLUMNS,
        weights: problem.sums.map(({ weight }) => weight.format).join(', '),
      },
    }),
  };
}
