/**
 * @file The sums of an item of columns over narrow weights: which functions make them, and the calls of those.
 */
import {
  type BlockLayout,
  type BlockProduct,
  extent,
  type NarrowWeight,
  type RowForm,
  rowFormBytes,
} from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { call, i32, memory, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { minimum, scaled, sum } from '../matmul/index-code.js';
import { COLUMNS, type SumsTarget } from './column-sums.js';
import { exactSums } from './exact-sums.js';
import { fixedPointSums } from './fixed-point-sums.js';
import { bfloatSums, halfSums } from './half-sums.js';
import { int4Sums, int8Sums } from './word-sums.js';

/** The function `(args, col, row, out)` that sums columns. */
function sumsFunction(
  target: SumsTarget,
  weight: NarrowWeight,
  form: RowForm | undefined,
  depth: number,
): WasmFunction {
  if (weight.format === 'float16') return halfSums(target, weight.row, depth);
  if (weight.format === 'bfloat16') return bfloatSums(target, weight.row, depth);
  if (form?.kind === 'digits') return fixedPointSums(target, weight, form, depth);
  return weight.format === 'int8'
    ? int8Sums(target, weight, depth)
    : int4Sums(target, weight, depth);
}

/** Makes the sums of an item of columns from `first` on: they lie from address `out` on. */
export function itemSums(
  body: BodyEmitter,
  { to, a, b, steps, tile, ends }: BlockProduct,
  options: CodeOptions,
  first: Local<'i32'>,
  out: Local<'i32'>,
): void {
  const { f, kernel } = body;
  const { array, arranged } = a.layout as Extract<BlockLayout, { kind: 'made' }>;
  const weight = (b.layout as Extract<BlockLayout, { kind: 'evaluated' }>).weight!;
  const [depth, columns] = [extent(steps), ends[1]] as number[];
  const { vectors: atOnce, apart } = tile;
  const item = atOnce * apart!;
  const name = `${kernel.name}_${to}`;
  const near = { name, params: kernel.params, options, columns: atOnce, apart: 1 };
  const at = (row: string): Local<'i32'> => body.buffer(row).pointer;
  const sums = (func: WasmFunction, row: Code<'i32'>, col: Local<'i32'>): void => {
    const place = scaled(op('i32.sub', col, first), 4);
    f.do(call(func, f.param('args'), col, row, sum(out, place)));
  };
  /** Columns that are neighbours; the last ones end with the columns. */
  const byNeighbours = (func: WasmFunction, row: Code<'i32'>, count: number): void => {
    const end = minimum(f, 'stop', sum(first, i32(item)), i32(columns));
    const last = columns - count;
    f.for('near', first, end, count, (col) => {
      const start = select(i32(last), col, op('i32.gt_s', col, i32(last)));
      sums(func, row, f.let('start', start));
    });
  };
  const finite = (): void => {
    const make = (target: SumsTarget): WasmFunction =>
      sumsFunction(target, weight, arranged?.as, depth);
    f.if(
      op('i32.le_s', first, i32(columns - item)),
      () => {
        const func = make({ ...near, name: `${name}_apart`, apart: apart! });
        f.for('apart', first, f.let('stop', sum(first, i32(apart!))), 1, (col) =>
          sums(func, at(array), col),
        );
      },
      () => byNeighbours(make(near), at(array), atOnce),
    );
  };
  if (arranged === undefined || !('scales' in weight)) return finite();
  const exact = exactSums({ ...near, columns: COLUMNS, name: `${name}_exact` }, weight, depth);
  f.if(
    memory('i32.load', rowFormBytes(arranged.as, depth), at(array)),
    () => byNeighbours(exact, at(arranged.values), COLUMNS),
    finite,
  );
}
