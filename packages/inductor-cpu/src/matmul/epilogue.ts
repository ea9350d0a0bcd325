/**
 * @file The epilogue of a matrix product: reads finished sums from scratch, stores what the kernel asks.
 *
 * It runs over a block of rows at a time, while the sums are still in a near cache.
 */
import { type SizedLoop, mergedSpace } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import { i32, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, type Run } from './matmul-space.js';
import type { MatmulProblem } from './problem.js';

/** Elements of a full vector iteration. */
export const STEP = 8;

/**
 * The function `(args, batch, row, rows, col, cols, c)`: stores for the rows and columns of one block
 * whose sums begin at `c`, rows `rowBytes` apart. `aligned`: column blocks are multiples of the
 * innermost column variable (after merging) or it is the only one. `apart`: bytes from `c` to the sums of each product.
 */
export function epilogueFunction(
  problem: MatmulProblem,
  rowBytes: number,
  colBlock: number,
  options: KernelOptions,
  apart: readonly number[] = [0],
): WasmFunction {
  const { kernel, type } = problem;
  const f = new WasmFunction(`${kernel.name}_epilogue`, {
    args: 'i32',
    batch: 'i32',
    row: 'i32',
    rows: 'i32',
    col: 'i32',
    cols: 'i32',
    c: 'i32',
  });
  const { space, lists } = mergedSpace(
    [problem.rows, problem.cols],
    problem.batch,
    [],
    kernel.epilogue,
  );
  const [rows, cols] = lists;
  const body = new BodyEmitter(f, kernel, space, options);
  const [row, col, c] = [f.param('row'), f.param('col'), f.param('c')];
  bindBatch(body, problem.batch, f.param('batch'));
  const rowEnd = f.let('row_end', sum(row, f.param('rows')));
  const colEnd = f.let('col_end', sum(col, f.param('cols')));

  forEachRun(body, rows, row, rowEnd, (rowRun) => {
    body.scope.loop(rowRun.inner, rowRun.begin, rowRun.end, 1, () => {
      const position = positionIn(rowRun, body.scope.variable(rowRun.inner), row);
      const sums = f.let('sums', sum(c, scaled(position, rowBytes)));
      forEachRun(body, cols, col, colEnd, (run) => {
        const at = f.let('at', sum(sums, scaled(op('i32.sub', run.flat, col), type.bytes)));
        storeRun(body, problem, run, at, tailOf(cols, colBlock, problem.colCount), apart);
      });
    });
  });
  return f;
}

/** Flat index of a variable's value within a run, relative to the start of the block. */
function positionIn(run: Run, value: Local<'i32'>, start: Local<'i32'>): ReturnType<typeof sum> {
  return op('i32.sub', sum(run.flat, op('i32.sub', value, run.begin)), start);
}

/** Elements that are left of every run after whole vector iterations, if that is known: 0 to 7. */
function tailOf(cols: readonly SizedLoop[], colBlock: number, colCount: Size): number | null {
  const { size } = cols[cols.length - 1];
  if (typeof colCount !== 'number' || typeof size !== 'number') return null;
  if (cols.length === 1) return colBlock % STEP === 0 ? colCount % STEP : null;
  return colBlock % size === 0 ? size % STEP : null;
}

/** Stores for a run of columns whose sums begin at `sums`; `tail`: elements left behind whole vectors, if that is known. */
export function storeRun(
  body: BodyEmitter,
  problem: MatmulProblem,
  run: Run,
  sums: Local<'i32'>,
  tail: number | null,
  apart: readonly number[] = [0],
): void {
  const { f, scope } = body;
  const part = (begin: Local<'i32'>, end: Local<'i32'>, step: number, active: number): void => {
    const groups = Math.ceil(active / 4);
    scope.loop(run.inner, begin, end, step, () => {
      scope.vectorise({ lane: run.inner, across: run.inner, groups, active }, () =>
        storeVectors(body, problem, run, sums, { groups, apart }),
      );
    });
  };
  const width = tail === null ? 4 : STEP;
  const whole = op('i32.and', op('i32.sub', run.end, run.begin), i32(-width));
  const middle = f.let('middle', sum(run.begin, whole));
  part(run.begin, middle, width, width);
  if (tail === null) part(middle, run.end, 1, 1);
  else if (tail > 0) part(middle, run.end, STEP, tail);
}

function storeVectors(
  body: BodyEmitter,
  problem: MatmulProblem,
  run: Run,
  sums: Local<'i32'>,
  { groups, apart }: { readonly groups: number; readonly apart: readonly number[] },
): void {
  const { f, scope } = body;
  const { type, kernel } = problem;
  const kind = kindOf(type.dtype);
  const at = f.let(
    'at',
    sum(sums, scaled(op('i32.sub', scope.variable(run.inner), run.begin), type.bytes)),
  );
  for (const [id, offset] of apart.entries()) {
    const regs = Array.from({ length: groups * registersPerGroup(kind) }, (_, i) =>
      f.let('product', memory('v128.load', offset + 16 * i, at)),
    );
    scope.bindAcc(id, { kind, uniform: false, regs });
  }
  for (const stmt of kernel.epilogue) if (stmt.kind === 'store') body.store(stmt);
}
