/**
 * @file What the code of every format of weights shares: a few columns at a time.
 *
 * Columns of a call share each vector of x, and keep enough bytes on their way from memory: four, or two where four sums
 * and what weights are taken apart with do not fit registers. They are neighbours, or as far apart as an item is wide:
 * calls for the columns after them then read on where these end. Processors prefetch long runs, and lose the start of many
 * short ones.
 */
import type { BufferParam, ColumnPlace } from '@tessera/inductor-core';
import { VectorBuilder, type CodeOptions } from '../body/vector-builder.js';
import { f32x4, i32, laneMemory, memory } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { type ElementType, elementType, multiplyAdd } from '../matmul/element-type.js';
import { advance, scaled, sum } from '../matmul/index-code.js';
import { transpose } from '../matmul/pack-plain.js';

/** Columns of a call, unless a schedule says otherwise. */
export const COLUMNS = 4;

/** What makes the functions that sum. */
export interface SumsTarget {
  readonly name: string;
  readonly params: readonly BufferParam[];
  readonly options: CodeOptions;
  /** Columns of a call. */
  readonly columns: number;
  /** Columns from one of a call to the next. */
  readonly apart: number;
}

const FLOAT: ElementType = elementType('float32')!;

/** See the file header: the function `(args, col, row, out)`; `row` is where the kept values of x lie. */
export class ColumnSums {
  readonly f: WasmFunction;
  readonly vb: VectorBuilder;
  /** Address of the kept values of the open step. */
  readonly x: Local<'i32'>;

  constructor(private readonly target: SumsTarget) {
    const { name, options } = target;
    this.f = new WasmFunction(name, { args: 'i32', col: 'i32', row: 'i32', out: 'i32' });
    this.vb = new VectorBuilder(this.f, this.f.section(), options);
    this.x = this.f.let('x', this.f.param('row'));
  }

  /** The address of the first column's place in a buffer. */
  address({ buf, constant, step }: ColumnPlace, bytes: number): Local<'i32'> {
    const { f } = this;
    const position = this.target.params.findIndex(({ name }) => name === buf);
    const start = memory('i32.load', 4 * position, f.param('args'));
    const column = scaled(f.param('col'), step * bytes);
    return f.let(buf, sum(sum(start, column), i32(constant * bytes)));
  }

  /** Elements from a call's first column to its column `c`, of a place. */
  column(c: number, { step }: ColumnPlace): number {
    return c * this.target.apart * step;
  }

  /** One register for each column. */
  registers(name: string): Local<'v128'>[] {
    return Array.from({ length: this.target.columns }, () => this.f.let(name, f32x4(0)));
  }

  /** Runs `body` once for each step of `x`, which moves it and other addresses by their bytes. */
  steps(count: number, moves: ReadonlyMap<Local<'i32'>, number>, body: () => void): void {
    const { f } = this;
    f.for('step', i32(0), count, 1, () => {
      body();
      for (const [address, bytes] of moves) advance(f, address, bytes);
    });
  }

  /** `acc += a · b` */
  add(acc: Local<'v128'>, a: Code<'v128'>, b: Code<'v128'>): void {
    this.f.set(acc, multiplyAdd(FLOAT, this.target.options.relaxedSimd, acc, a, b));
  }

  /** Adds up each column's lanes, times `factor`, and stores the sums, as far apart as the columns. */
  finish(totals: readonly Local<'v128'>[], factor = 1): void {
    const { f, vb } = this;
    const { apart, columns } = this.target;
    const four = Array.from({ length: 4 }, (_, c) => totals[c % columns]!);
    const all = transpose(f, 4, four).reduce((a, b) => FLOAT.add(a, b));
    const sums = f.let('sums', factor === 1 ? all : FLOAT.mul(all, vb.f32(factor)[0]!));
    for (let c = 0; c < columns; c++)
      f.do(laneMemory('v128.store32_lane', 4 * c * apart, c, f.param('out'), sums));
  }
}
