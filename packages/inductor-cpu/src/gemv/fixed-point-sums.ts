/**
 * @file Sums over weights of 8 or 4 bits by products of integers: rows are in fixed point (`fixed-point-row.ts`).
 *
 * An instruction makes eight products and adds them in pairs, and weights become 16-bit integers in one instruction or
 * two. Loops are small on purpose: TurboFan, the compiler of V8 up to 12, orders the instructions of a long block so
 * that registers spill, and takes twice the time.
 */
import type { PackedWeight } from '@tessera/inductor-core';
import { i32, i32x4, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { advance } from '../matmul/index-code.js';
import { ColumnSums, type SumsTarget } from './column-sums.js';
import { type FixedPoint, FixedPointRecord, LOW_BITS } from './fixed-point-row.js';

/** The columns of a call. */
class FixedPointSums {
  readonly sums: ColumnSums;
  private readonly record: FixedPointRecord;
  private readonly words: Local<'i32'>;
  /** Address of the digits in the open pass. */
  private readonly at: Local<'i32'>;

  constructor(
    target: SumsTarget,
    private readonly weight: PackedWeight,
    private readonly row: FixedPoint,
    private readonly depth: number,
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
    const { group } = this.row;
    const totals = sums.registers('total');
    const moves = new Map([
      [sums.x, record.bytes],
      [words, format === 'int8' ? group : group / 2],
    ]);
    const steps = scales === null ? null : sums.address(scales.scale, 4);
    if (steps !== null) moves.set(steps, 4 * scales!.groupStep);
    sums.steps(this.depth / group, moves, () => {
      const accs = totals.map(() => this.begin());
      if (format === 'int8') this.addBytes(accs);
      else this.addParts(accs);
      totals.forEach((total, c) => this.finish(total, accs[c]!, steps, c));
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

  private addBytes(accs: readonly Local<'v128'>[][]): void {
    const { sums, words, at, weight, row } = this;
    const { f } = sums;
    const bytes = f.let('bytes', words);
    f.set(at, sums.x);
    f.for('eight', i32(0), row.group / 8, 1, () => {
      const x = this.load(0);
      accs.forEach((acc, c) => {
        const load = memory('v128.load8x8_s', 4 * sums.column(c, weight.row), bytes);
        this.dot(acc, f.let('weights', load), x);
      });
      advance(f, at, 16 * row.digits);
      advance(f, bytes, 8);
    });
  }

  private addParts(accs: readonly Local<'v128'>[][]): void {
    const { sums, words, at, weight, row } = this;
    const { f, vb } = sums;
    const [mask] = vb.i32(0x000f000f);
    const bytes = f.let('bytes', words);
    f.set(at, sums.x);
    f.for('sixteen', i32(0), row.group / 16, 1, () => {
      const [even, odd] = [this.load(0), this.load(1)];
      accs.forEach((acc, c) => {
        const load = memory('v128.load8x8_u', 4 * sums.column(c, weight.row), bytes);
        const both = f.let('both', load);
        this.dot(acc, f.let('low', op('v128.and', both, mask!)), even);
        this.dot(acc, f.let('high', op('i16x8.shr_u', both, i32(4))), odd);
      });
      advance(f, at, 32 * row.digits);
      advance(f, bytes, 8);
    });
  }

  /** Adds a group's sum to a column's, times its scale; a zero is added as often as x says. */
  private finish(
    total: Local<'v128'>,
    accs: readonly Local<'v128'>[],
    steps: Local<'i32'> | null,
    column: number,
  ): void {
    const { sums, record, weight } = this;
    const { vb, x } = sums;
    const [high, low] = accs.map((acc) => op('f32x4.convert_i32x4_s', acc));
    const value =
      low === undefined
        ? high!
        : op('f32x4.add', high!, op('f32x4.mul', low, vb.f32(2 ** -LOW_BITS)[0]!));
    const unit = memory('v128.load', record.unit, x);
    if (steps === null) return sums.add(total, value, unit);
    const at = 4 * sums.column(column, weight.scales!.scale);
    const scale = memory('v128.load32_splat', at, steps);
    sums.add(total, op('f32x4.mul', value, unit), scale);
    if (weight.format !== 'int4') return;
    const zero = memory('v128.load32_splat', at + 4 * weight.zeroStep, steps);
    sums.add(total, memory('v128.load', record.sum, x), zero);
  }
}

/** The function `(args, col, row, out)`; `row` is where the records lie. */
export function fixedPointSums(
  target: SumsTarget,
  weight: PackedWeight,
  row: FixedPoint,
  depth: number,
): WasmFunction {
  return new FixedPointSums(target, weight, row, depth).make();
}
