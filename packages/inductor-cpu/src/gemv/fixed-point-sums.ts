/**
 * @file Sums over weights of 8 or 4 bits by products of integers: rows are in fixed point (`fixed-point-row.ts`).
 *
 * An instruction makes eight products and adds them in pairs, and weights become 16-bit integers in one instruction or
 * two. Loops are small on purpose: TurboFan, the compiler of V8 up to 12, orders the instructions of a long block so
 * that registers spill, and takes twice the time.
 */
import { i32, i32x4, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { advance } from '../matmul/index-code.js';
import { COLUMNS, ColumnSums, type SumsTarget } from './column-sums.js';
import { FixedPointRecord, type FixedPointRow } from './fixed-point-row.js';
import type { PackedWeight } from './narrow-weight.js';

/** Columns that fit registers at once: the words of 4 bits are kept while they are taken apart. */
const AT_ONCE = { int8: 4, int4: 2 } as const;

/** Quarters of a half word of 4 bits that a pass of the loop takes. */
const PARTS_AT_ONCE = 2;

/** Four columns, whose sums in a group are made a few columns at a time. */
class FixedPointSums {
  readonly sums: ColumnSums;
  private readonly record: FixedPointRecord;
  private readonly words: Local<'i32'>;
  /** Address of the digits in the open pass. */
  private readonly at: Local<'i32'>;

  constructor(
    target: SumsTarget,
    private readonly weight: PackedWeight,
    private readonly row: FixedPointRow,
  ) {
    this.sums = new ColumnSums(target);
    this.record = new FixedPointRecord(row);
    this.words = this.sums.address(weight.row, 4);
    this.at = this.sums.f.local('i32', 'at');
  }

  /** Makes the function. */
  make(): WasmFunction {
    const { sums, record, words, weight } = this;
    const { scales, format } = weight;
    const totals = sums.registers('total');
    const steps = scales === null ? null : sums.address(scales.scale, 4);
    const { group, depth } = this.row;
    const moves = new Map([
      [sums.x, record.bytes],
      [words, format === 'int8' ? group : group / 2],
    ]);
    if (steps !== null) moves.set(steps, 4 * scales!.groupStep);
    sums.steps(depth / group, moves, () => {
      const count = AT_ONCE[format];
      for (let first = 0; first < COLUMNS; first += count) {
        const columns = Array.from({ length: count }, (_, i) => first + i);
        const accs = columns.map(() => this.begin());
        if (format === 'int8') this.addBytes(columns, accs);
        else this.addParts(columns, accs);
        columns.forEach((c, i) => this.finish(totals[c]!, accs[i]!, steps, c));
      }
    });
    sums.finish(totals);
    return sums.f;
  }

  private begin(): Local<'v128'>[] {
    const { sums, record } = this;
    return this.digits((digit) =>
      sums.f.let(
        'acc',
        record.inParts ? memory('v128.load', record.start(digit), sums.x) : i32x4(0),
      ),
    );
  }

  private digits<T>(make: (digit: number) => T): T[] {
    return Array.from({ length: this.row.digits }, (_, digit) => make(digit));
  }

  /** The digits of the vector number `i` of the open pass. */
  private load(i: number): Local<'v128'>[] {
    const { record, sums, at, row } = this;
    return this.digits((digit) => {
      const offset = record.values + 16 * (row.digits * i + digit);
      return sums.f.let('x', memory('v128.load', offset, at));
    });
  }

  private dot(
    accs: readonly Local<'v128'>[],
    weights: Local<'v128'>,
    x: readonly Local<'v128'>[],
  ): void {
    const { f } = this.sums;
    accs.forEach((acc, digit) =>
      f.set(acc, op('i32x4.add', acc, op('i32x4.dot_i16x8_s', weights, x[digit]!))),
    );
  }

  private addBytes(columns: readonly number[], accs: readonly Local<'v128'>[][]): void {
    const { sums, words, at, weight, row } = this;
    const { f } = sums;
    const bytes = f.let('bytes', words);
    f.set(at, sums.x);
    f.for('eight', i32(0), row.group / 8, 1, () => {
      const x = this.load(0);
      columns.forEach((c, i) => {
        const load = memory('v128.load8x8_s', 4 * sums.column(c, weight.row), bytes);
        this.dot(accs[i]!, f.let('weights', load), x);
      });
      advance(f, at, 16 * row.digits);
      advance(f, bytes, 8);
    });
  }

  private addParts(columns: readonly number[], accs: readonly Local<'v128'>[][]): void {
    const { sums, words, at, weight, row } = this;
    const { f, vb } = sums;
    const [mask] = vb.i32(0x000f000f);
    f.set(at, sums.x);
    for (let step = 0; step < row.group / 32; step++) {
      const loaded = columns.map((c) =>
        f.let('words', memory('v128.load', 16 * step + 4 * sums.column(c, weight.row), words)),
      );
      f.for('part', i32(0), 4, PARTS_AT_ONCE, () => {
        for (let part = 0; part < PARTS_AT_ONCE; part++) {
          const x = this.load(part);
          loaded.forEach((word, i) => {
            const shifted = part === 0 ? word : op('i16x8.shr_u', word, i32(4 * part));
            this.dot(accs[i]!, f.let('weights', op('v128.and', shifted, mask!)), x);
          });
        }
        for (const word of loaded) f.set(word, op('i16x8.shr_u', word, i32(4 * PARTS_AT_ONCE)));
        advance(f, at, 16 * row.digits * PARTS_AT_ONCE);
      });
    }
  }

  /** Adds a group's sum to a column's, times its scale; a zero is added as often as x says. */
  private finish(
    total: Local<'v128'>,
    accs: readonly Local<'v128'>[],
    steps: Local<'i32'> | null,
    column: number,
  ): void {
    const { sums, record, weight } = this;
    const { x } = sums;
    const parts = accs.map((acc, digit): [Code<'v128'>, Code<'v128'>] => [
      op('f32x4.convert_i32x4_s', acc),
      memory('v128.load', record.unit(digit), x),
    ]);
    if (steps === null) {
      for (const [value, unit] of parts.toReversed()) sums.add(total, value, unit);
      return;
    }
    const value = parts
      .map(([a, b]) => op('f32x4.mul', a, b))
      .reduceRight((low, high) => op('f32x4.add', low, high));
    const at = 4 * sums.column(column, weight.scales!.scale);
    sums.add(total, value, memory('v128.load32_splat', at, steps));
    if (weight.format !== 'int4') return;
    const zero = memory('v128.load32_splat', at + 4 * weight.zeroStep, steps);
    sums.add(total, memory('v128.load', record.sum, x), zero);
  }
}

/** The function `(args, col, row, out)`; `row` is where the records lie. */
export function fixedPointSums(
  target: SumsTarget,
  weight: PackedWeight,
  row: FixedPointRow,
): WasmFunction {
  return new FixedPointSums(target, weight, row).make();
}
