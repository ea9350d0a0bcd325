/**
 * @file The epilogue of a convolution: stores from the sums of a tile, which lie in rows of the tile's pitch.
 */
import type { Size } from '@tessera/shared';
import { type SizedLoop, mergedSpace } from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { STEP, storeRun } from '../matmul/epilogue.js';
import { scaled, sum } from '../matmul/index-code.js';
import { bindBatch, forEachRun } from '../matmul/matmul-space.js';
import type { Tiling } from './tiling.js';
import type { WindowAxis, Windows } from './windows.js';

/** The function `(args, batch, row, rows, y, x, height, width, c)` for rows of sums of so many bytes. */
export function windowEpilogue(
  { problem, units, y, x }: Windows,
  tiling: Tiling,
  rowBytes: number,
  options: KernelOptions,
): WasmFunction {
  const { kernel, type } = problem;
  const f = new WasmFunction(`${kernel.name}_epilogue`, {
    args: 'i32',
    batch: 'i32',
    row: 'i32',
    rows: 'i32',
    y: 'i32',
    x: 'i32',
    height: 'i32',
    width: 'i32',
    c: 'i32',
  });
  const [down, across] = [pixelsOf(y, 'unit.y'), pixelsOf(x, 'unit.x')];
  const pixels = [[down], [across]];
  const { space, lists } = mergedSpace(
    [problem.rows, ...pixels],
    problem.batch,
    [],
    kernel.epilogue,
  );
  for (const name of units) space.fix(name);
  const body = new BodyEmitter(f, kernel, space, options);
  bindBatch(body, problem.batch, f.param('batch'));
  const end = (begin: string, length: string): Local<'i32'> =>
    f.let('end', sum(f.param(begin), f.param(length)));
  const [rowEnd, yEnd, xEnd] = [end('row', 'rows'), end('y', 'height'), end('x', 'width')];
  const tail = tailOf(x.size, tiling.columns);
  forEachRun(body, lists[0], f.param('row'), rowEnd, (run) => {
    body.scope.loop(run.inner, run.begin, run.end, 1, () => {
      const offset = op('i32.sub', body.scope.variable(run.inner), run.begin);
      const position = op('i32.sub', sum(run.flat, offset), f.param('row'));
      const sums = f.let('sums', sum(f.param('c'), scaled(position, rowBytes)));
      body.scope.loop(down.name, f.param('y'), yEnd, 1, () => {
        const line = op('i32.sub', body.scope.variable(down.name), f.param('y'));
        const at = f.let('at', sum(sums, scaled(line, tiling.pitch * type.bytes)));
        const first = f.param('x');
        const columns = { inner: across.name, begin: first, end: xEnd, flat: first };
        storeRun(body, problem, columns, at, tail);
      });
    });
  });
  return f;
}

function pixelsOf({ pixel, size }: WindowAxis, unit: string): SizedLoop {
  return { name: pixel ?? unit, size };
}

/** Elements that are left of every row of a tile after whole vectors, if that is known. */
function tailOf(width: Size, columns: number): number | null {
  if (typeof width !== 'number') return null;
  return width === columns || columns % STEP === 0 ? width % STEP : null;
}
