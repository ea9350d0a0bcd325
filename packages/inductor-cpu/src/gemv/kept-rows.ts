/**
 * @file Where the values of rows lie in scratch memory, as they are and as sums take them, and the code that makes them.
 */
import type { Expr } from '@tessera/inductor-core';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32 } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { sum } from '../matmul/index-code.js';
import { SCRATCH } from '../wasm-kernel.js';
import { findNotFinite } from './exact-sums.js';
import type { GemvProblem } from './gemv-problem.js';
import { keptVector } from './kept-vector.js';
import type { SumMethod } from './sum-method.js';

/** The address of bytes from the start of scratch memory on. */
export const inScratch = (at: number): Code<'i32'> => sum(SCRATCH, i32(at));

/** Values of a row that several sums may share; places are bytes from the start of scratch memory. */
interface KeptRow {
  readonly x: Expr;
  readonly factor: number;
  readonly at: number;
  /** Where it says whether a value is not finite; null if nobody asks. */
  notFinite: number | null;
  readonly arranged: Map<string, number>;
}

/** Where a sum finds its row. */
export interface RowPlaces {
  readonly values: number;
  /** The values as the sum takes them. */
  readonly arranged: number;
  readonly notFinite: number | null;
}

/** See the file header. */
export class KeptRows {
  /** Bytes of scratch memory so far. */
  bytes = 0;
  /** Made in this order for each row. */
  private readonly fills: ((args: Code<'i32'>, number: Code<'i32'>) => Code)[] = [];
  private readonly rows: KeptRow[] = [];

  constructor(
    private readonly problem: GemvProblem,
    private readonly options: KernelOptions,
  ) {}

  /** The places of a row for a method. */
  of(x: Expr, method: SumMethod): RowPlaces {
    const row = this.row(x, method.factor);
    const { depth } = this.problem.loops;
    const { arrangement } = method;
    if (method.notFinite !== null && row.notFinite === null) {
      row.notFinite = this.take(16);
      this.fill(row, row.notFinite, findNotFinite(this.name(row, 'special'), depth));
    }
    let arranged = row.at;
    if (arrangement !== null) {
      const known = row.arranged.get(arrangement.key);
      arranged = known ?? this.take(arrangement.bytes);
      if (known === undefined) {
        const name = this.name(row, `arranged${row.arranged.size}`);
        this.fill(row, arranged, arrangement.make(name));
        row.arranged.set(arrangement.key, arranged);
      }
    }
    return { values: row.at, arranged, notFinite: row.notFinite };
  }

  /** Code that makes what is kept of the row of that number. */
  make(args: Code<'i32'>, number: Code<'i32'>): Code[] {
    return this.fills.map((fill) => fill(args, number));
  }

  /** A place of so many bytes. */
  take(bytes: number): number {
    const at = this.bytes;
    this.bytes += bytes;
    return at;
  }

  private row(x: Expr, factor: number): KeptRow {
    const known = this.rows.find((row) => row.x === x && row.factor === factor);
    if (known !== undefined) return known;
    const at = this.take(4 * this.problem.loops.depth);
    const row: KeptRow = { x, factor, at, notFinite: null, arranged: new Map() };
    this.rows.push(row);
    const func = keptVector(this.name(row), this.problem, x, factor, this.options);
    this.fills.push((args, number) => call(func, args, inScratch(at), number));
    return row;
  }

  private name(row: KeptRow, what?: string): string {
    const name = `${this.problem.kernel.name}_row${this.rows.indexOf(row) + 1}`;
    return what === undefined ? name : `${name}_${what}`;
  }

  private fill(row: KeptRow, out: number, func: WasmFunction): void {
    this.fills.push(() => call(func, inScratch(row.at), inScratch(out)));
  }
}
