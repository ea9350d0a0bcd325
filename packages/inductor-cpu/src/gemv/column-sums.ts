/**
 * @file What the code of every format of weights shares: four columns at a time, whose sums go next to each other.
 *
 * Four columns share each vector of x, and keep enough bytes on their way from memory.
 */
import type { BufferParam } from '@tessera/inductor-core';
import { VectorBuilder, type CodeOptions } from '../body/vector-builder.js';
import { f32x4, i32, memory } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { type ElementType, elementType, multiplyAdd } from '../matmul/element-type.js';
import { advance, scaled, sum } from '../matmul/index-code.js';
import { transpose } from '../matmul/pack-plain.js';
import type { ColumnPlace } from './narrow-weight.js';

/** Columns of a call. */
export const COLUMNS = 4;

const FLOAT: ElementType = elementType('float32')!;

/** See the file header: the function `(args, col, row, out)`; `row` is where the kept values of x lie. */
export class ColumnSums {
  readonly f: WasmFunction;
  readonly vb: VectorBuilder;
  /** Address of the kept values of the open step. */
  readonly x: Local<'i32'>;

  constructor(
    name: string,
    private readonly params: readonly BufferParam[],
    readonly options: CodeOptions,
  ) {
    this.f = new WasmFunction(name, { args: 'i32', col: 'i32', row: 'i32', out: 'i32' });
    this.vb = new VectorBuilder(this.f, this.f.section(), options);
    this.x = this.f.let('x', this.f.param('row'));
  }

  /** The address of the first column's place in a buffer. */
  address({ buf, constant, step }: ColumnPlace, bytes: number): Local<'i32'> {
    const { f } = this;
    const position = this.params.findIndex(({ name }) => name === buf);
    const start = memory('i32.load', 4 * position, f.param('args'));
    const column = scaled(f.param('col'), step * bytes);
    return f.let(buf, sum(sum(start, column), i32(constant * bytes)));
  }

  /** One register for each column. */
  registers(name: string): Local<'v128'>[] {
    return Array.from({ length: COLUMNS }, () => this.f.let(name, f32x4(0)));
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
    this.f.set(acc, multiplyAdd(FLOAT, this.options.relaxedSimd, acc, a, b));
  }

  /** Adds up each column's lanes, times `factor`, and stores the sums. */
  finish(totals: readonly Local<'v128'>[], factor = 1): void {
    const { f, vb } = this;
    const all = transpose(f, 4, totals).reduce((a, b) => FLOAT.add(a, b));
    const result = factor === 1 ? all : FLOAT.mul(all, vb.f32(factor)[0]!);
    f.do(memory('v128.store', 0, f.param('out'), result));
  }
}
