/**
 * @file Values of a row in the order in which words of eight parts take them: a vector belongs to the same part of four
 * words. Behind them are sums of each group, for the zeros of weights.
 */
import { f32x4, i32, laneMemory, memory, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance } from '../matmul/index-code.js';

/** Parts of a word. */
export const PARTS = 8;

/** Bytes of the values that belong to four words. */
export const STEP_BYTES: number = 16 * PARTS;

/** Parts are masked where they stand in the word, but the highest, which would be negative and is shifted down. */
const factors = Array.from({ length: PARTS }, (_, part) => (part === PARTS - 1 ? 1 : 16 ** -part));

/** The function `(row, out)` that arranges the float32 values at `row`. */
export function rowParts(name: string, depth: number, group: number): WasmFunction {
  const f = new WasmFunction(name, { row: 'i32', out: 'i32' });
  const [x, out] = [f.let('x', f.param('row')), f.let('out', f.param('out'))];
  const sums = f.let('sums', op('i32.add', out, i32(4 * depth)));
  const total = f.local('v128', 'sum');
  f.for('group', i32(0), depth / group, 1, () => {
    f.set(total, f32x4(0));
    f.for('words', i32(0), group / 32, 1, () => {
      for (let word = 0; word < 4; word++)
        for (const half of [0, 1]) {
          const value = f.let('value', memory('v128.load', 32 * word + 16 * half, x));
          f.set(total, op('f32x4.add', total, value));
          const factor = f32x4(...factors.slice(4 * half, 4 * half + 4));
          const scaled = f.let('scaled', op('f32x4.mul', value, factor));
          for (let lane = 0; lane < 4; lane++) {
            const offset = 16 * (4 * half + lane) + 4 * word;
            f.do(laneMemory('v128.store32_lane', offset, lane, out, scaled));
          }
        }
      advance(f, x, STEP_BYTES);
      advance(f, out, STEP_BYTES);
    });
    f.do(memory('v128.store', 0, sums, total));
    advance(f, sums, 16);
  });
  return f;
}
