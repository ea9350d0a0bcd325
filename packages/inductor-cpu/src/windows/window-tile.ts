/**
 * @file The innermost loop of a convolution: a tile of accumulators in registers, over the taps of channel after channel.
 *
 * As in a product (`micro-kernel.ts`), but the vectors of B lie at a fixed distance for each tap, so taps are written
 * out. A test that never holds stands between them, for the reason that is given there: each tap is a block of its own.
 */
import type { ImageLayout } from '@tessera/inductor-core';
import { i32, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance } from '../matmul/index-code.js';
import { registerTile, type TileSpec } from '../matmul/micro-kernel.js';

/**
 * The function `(a, b, c, channels, accumulate)`: byte addresses, number of channels (≥ 1), and whether C is added to
 * (1) or overwritten (0).
 */
export function windowTile(
  spec: TileSpec,
  { taps, channel }: Pick<ImageLayout, 'taps' | 'channel'>,
): WasmFunction {
  const { type, rows, vectors } = spec;
  const f = new WasmFunction(`window_${rows}x${vectors * type.lanes}`, {
    a: 'i32',
    b: 'i32',
    c: 'i32',
    channels: 'i32',
    accumulate: 'i32',
  });
  const [a, b, channels] = ['a', 'b', 'channels'].map((param) => f.param(param));
  const tile = registerTile(f, spec);
  tile.load();
  f.block((done) => {
    f.loop((again) => {
      taps.forEach((at, tap) => {
        if (tap > 0) f.brIf(done, op('i32.eq', channels, i32(-tap)));
        tile.step(tap, at * type.bytes);
      });
      advance(f, a, taps.length * spec.aStep);
      advance(f, b, channel * type.bytes);
      f.brIf(again, f.tee(channels, op('i32.sub', channels, i32(1))));
    });
  });
  tile.store();
  return f;
}
