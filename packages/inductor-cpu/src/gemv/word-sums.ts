/**
 * @file Sums over weights that are parts of 32-bit words, 8 bits with a sign, or 4 bits with scale and zero, by products of
 * floats.
 */
import type { ColumnPlace, PackedWeight } from '@tessera/inductor-core';
import { f32x4, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { COLUMNS, ColumnSums, type SumsTarget } from './column-sums.js';
import { PARTS, STEP_BYTES } from './row-parts.js';

type Int4 = Extract<PackedWeight, { format: 'int4' }>;
type Int8 = Extract<PackedWeight, { format: 'int8' }>;

/** Adds up `count` elements of each column from the open step on, in two registers for each. */
function addBytes(
  sums: ColumnSums,
  { row, words, count }: { row: ColumnPlace; words: Local<'i32'>; count: number },
  accs: readonly (readonly Local<'v128'>[])[],
): void {
  const { f, x } = sums;
  for (let k = 0; k < count; k += 8) {
    const values = [0, 16].map((offset) => f.let('x', memory('v128.load', 4 * k + offset, x)));
    for (let c = 0; c < COLUMNS; c++) {
      const eight = f.let('eight', memory('v128.load8x8_s', k + 4 * sums.column(c, row), words));
      const halves = [
        op('i32x4.extend_low_i16x8_s', eight),
        op('i32x4.extend_high_i16x8_s', eight),
      ];
      halves.forEach((whole, half) =>
        sums.add(accs[half]![c]!, op('f32x4.convert_i32x4_s', whole), values[half]!),
      );
    }
  }
}

/** Bytes, four to a word: `Σ byte · x`, or of each group that times its scale. */
export function int8Sums(target: SumsTarget, { row, scales }: Int8, depth: number): WasmFunction {
  const sums = new ColumnSums(target);
  const { f, x } = sums;
  const words = sums.address(row, 4);
  const both = (accs: readonly (readonly Local<'v128'>[])[], c: number): Code<'v128'> =>
    op('f32x4.add', accs[0]![c]!, accs[1]![c]!);
  const accs = [sums.registers('sum'), sums.registers('sum')];
  if (scales === null) {
    const moves = new Map([
      [x, 32],
      [words, 8],
    ]);
    sums.steps(depth / 8, moves, () => addBytes(sums, { row, words, count: 8 }, accs));
    sums.finish(accs[0]!.map((_, c) => f.let('sum', both(accs, c))));
    return f;
  }
  const { group, scale, groupStep } = scales;
  const steps = sums.address(scale, 4);
  const totals = sums.registers('total');
  const moves = new Map([
    [x, 4 * group],
    [words, group],
    [steps, 4 * groupStep],
  ]);
  sums.steps(depth / group, moves, () => {
    for (const acc of accs.flat()) f.set(acc, f32x4(0));
    addBytes(sums, { row, words, count: group }, accs);
    totals.forEach((total, c) =>
      sums.add(total, both(accs, c), memory('v128.load32_splat', 4 * sums.column(c, scale), steps)),
    );
  });
  sums.finish(totals);
  return f;
}

/**
 * Words of eight parts: for each group, `scale · Σ (part - 8) · x + zero · Σ x`, lane by lane.
 */
export function int4Sums(target: SumsTarget, weight: Int4, depth: number): WasmFunction {
  const { row, scales: shared, zeroStep } = weight;
  const { group, scale, groupStep } = shared;
  const sums = new ColumnSums(target);
  const { f, vb, x } = sums;
  const words = sums.address(row, 4);
  const scales = sums.address(scale, 4);
  const groupX = f.let('group_x', op('i32.add', x, i32(4 * depth)));
  const totals = sums.registers('sum');
  const moves = new Map([
    [x, 4 * group],
    [words, group / 2],
    [scales, 4 * groupStep],
    [groupX, 16],
  ]);
  sums.steps(depth / group, moves, () => {
    const sumX = f.let('sum_x', memory('v128.load', 0, groupX));
    const minusEight = f.let('start', op('f32x4.mul', sumX, vb.f32(-8)[0]!));
    const accs = totals.map(() => f.let('part_sum', minusEight));
    for (let step = 0; step < group / 32; step++) {
      const loaded = totals.map((_, c) =>
        f.let('words', memory('v128.load', 16 * step + 4 * sums.column(c, row), words)),
      );
      for (let part = 0; part < PARTS; part++) {
        const value = f.let('x', memory('v128.load', step * STEP_BYTES + 16 * part, x));
        loaded.forEach((word, c) => {
          const whole =
            part === PARTS - 1
              ? op('i32x4.shr_u', word, i32(4 * part))
              : op('v128.and', word, vb.i32(15 << (4 * part))[0]!);
          sums.add(accs[c]!, op('f32x4.convert_i32x4_s', whole), value);
        });
      }
    }
    totals.forEach((total, c) => {
      const at = 4 * sums.column(c, scale);
      sums.add(total, accs[c]!, memory('v128.load32_splat', at, scales));
      sums.add(total, sumX, memory('v128.load32_splat', at + 4 * zeroStep, scales));
    });
  });
  sums.finish(totals);
  return f;
}
