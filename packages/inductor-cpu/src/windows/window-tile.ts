/**
 * @file The innermost loop of a convolution: a tile of accumulators in registers, over the taps of channel after channel.
 *
 * As in a product (`micro-kernel.ts`), but the vectors of B lie at a fixed distance for each tap, so taps are written
 * out. A test that never holds stands between them, for the reason that is given there: each tap is a block of its own.
 */
import { i32, memory, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { multiplyAdd, type ElementType } from '../matmul/element-type.js';
import { advance } from '../matmul/index-code.js';

/** A tile's shape and the byte strides of its operands. */
export interface WindowTileSpec {
  readonly type: ElementType;
  readonly relaxed: boolean;
  readonly rows: number;
  /** Vectors per row. */
  readonly vectors: number;
  /** Bytes from one row of A to the next, and from one k to the next. */
  readonly aRow: number;
  readonly aStep: number;
  /** Distance of each tap, and from channel to channel. */
  readonly tapBytes: readonly number[];
  readonly channelBytes: number;
  /** Bytes from one row of C to the next. */
  readonly cRow: number;
}

/**
 * The function `(a, b, c, channels, accumulate)`: byte addresses, number of channels (≥ 1), and whether C is added to
 * (1) or overwritten (0).
 */
export function windowTile(spec: WindowTileSpec): WasmFunction {
  const { type, relaxed, rows, vectors, tapBytes } = spec;
  const f = new WasmFunction(`window_${rows}x${vectors * type.lanes}`, {
    a: 'i32',
    b: 'i32',
    c: 'i32',
    channels: 'i32',
    accumulate: 'i32',
  });
  const [a, b, c, channels] = ['a', 'b', 'c', 'channels'].map((param) => f.param(param));
  const splat = f.local('v128', 'a_splat');
  const row = Array.from({ length: vectors }, (_, v) => f.local('v128', `b_${v}`));
  const acc = Array.from({ length: rows * vectors }, (_, i) => f.local('v128', `acc_${i}`));
  const offset = (i: number): number => Math.floor(i / vectors) * spec.cRow + (i % vectors) * 16;
  f.if(f.param('accumulate'), () =>
    acc.forEach((local, i) => f.set(local, memory('v128.load', offset(i), c))),
  );
  f.block((done) => {
    f.loop((again) => {
      tapBytes.forEach((at, tap) => {
        if (tap > 0) f.brIf(done, op('i32.eq', channels, i32(-tap)));
        row.forEach((local, v) => f.set(local, memory('v128.load', at + v * 16, b)));
        for (let r = 0; r < rows; r++) {
          f.set(splat, memory(type.splatLoad, tap * spec.aStep + r * spec.aRow, a));
          row.forEach((local, v) => {
            const sum = acc[r * vectors + v];
            f.set(sum, multiplyAdd(type, relaxed, sum, splat, local));
          });
        }
      });
      advance(f, a, tapBytes.length * spec.aStep);
      advance(f, b, spec.channelBytes);
      f.brIf(again, f.tee(channels, op('i32.sub', channels, i32(1))));
    });
  });
  acc.forEach((local, i) => f.do(memory('v128.store', offset(i), c, local)));
  return f;
}
