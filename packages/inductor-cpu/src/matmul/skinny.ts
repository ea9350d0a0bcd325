/**
 * @file Sums of a few rows whose operands are evaluated where they are used: matrix times vector and the like.
 *
 * Vectors go along k, and each column is a dot product; or they go along the columns, and rows of B are scaled and added up.
 * Rows may have been packed: then elements of A are loaded from there.
 */
import { type BlockProduct, extent, mergedSpace, rowPitch } from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import type { Reg, Regs } from '../body/vector-builder.js';
import { i32, i32x4, laneMemory, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { multiplyAdd } from './element-type.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, inSteps, type Run, wholeSteps } from './matmul-space.js';
import { transpose } from './pack-plain.js';
import type { MatmulProblem } from './problem.js';
import { forEachRow, operandRegs, type Builder } from './skinny-builder.js';

/** The function `(args, batch, col, cols, a, c)`: `a` is where packed rows begin, `c` where sums go. */
export function sumsFunction(
  problem: MatmulProblem,
  { a, b, tile, row }: BlockProduct,
  options: KernelOptions,
): WasmFunction {
  const { kernel, type, depth: steps, batch } = problem;
  const f = new WasmFunction(`${kernel.name}_sums`, {
    args: 'i32',
    batch: 'i32',
    col: 'i32',
    cols: 'i32',
    a: 'i32',
    c: 'i32',
  });
  const isPacked = a.layout.kind === 'rows';
  const exprs = isPacked ? [problem.b.expr] : [problem.a.expr, problem.b.expr];
  const { space, lists } = mergedSpace([a.lines, b.lines, steps], batch, exprs, []);
  const [rows, cols, depth] = lists;
  const body = new BodyEmitter(f, kernel, space, options);
  bindBatch(body, batch, f.param('batch'));
  const builder: Builder = {
    problem,
    options,
    f,
    body,
    rows,
    cols,
    depth,
    tile,
    rowBytes: row * type.bytes,
    packedBytes: isPacked ? rowPitch(extent(problem.depth) as number) * type.bytes : null,
  };
  const isAlong = b.layout.kind === 'evaluated' && b.layout.along === 'steps';
  if (isAlong) dotProducts(builder);
  else scaledRows(builder);
  return f;
}

/** Address of the sum of the column that `variable` stands for, in row 0. */
function sumAddress({ f, problem }: Builder, run: Run, variable: Local<'i32'>): Local<'i32'> {
  const position = op('i32.sub', sum(run.flat, op('i32.sub', variable, run.begin)), f.param('col'));
  return f.let('at', sum(f.param('c'), scaled(position, problem.type.bytes)));
}

/** The flat range of the block's columns, or of all k. */
function colRange({ f }: Builder): [Local<'i32'>, Local<'i32'>] {
  return [f.param('col'), f.let('col_end', sum(f.param('col'), f.param('cols')))];
}

function depthRange({ f, problem }: Builder): [Local<'i32'>, Local<'i32'>] {
  return [f.let('k_begin', i32(0)), f.let('k_end', i32(extent(problem.depth) as number))];
}

/** Vectors along k, several columns at a time: as many as the registers hold sums for. */
function dotProducts(builder: Builder): void {
  const { body, cols, tile } = builder;
  const [colBegin, colEnd] = colRange(builder);
  const range = depthRange(builder);
  forEachRun(body, cols, colBegin, colEnd, (run) => {
    inSteps(body, run, tile.vectors, (columns) => dotColumns(builder, run, range, columns));
  });
}

function dotColumns(
  builder: Builder,
  run: Run,
  [kBegin, kEnd]: [Local<'i32'>, Local<'i32'>],
  columns: number,
): void {
  const { f, body, depth, problem, tile, packedBytes } = builder;
  const { scope } = body;
  const perGroup = registersPerGroup(kindOf(problem.type.dtype));
  const accs = Array.from({ length: tile.rows }, () =>
    Array.from({ length: columns * perGroup }, () => f.let('sum', i32x4(0))),
  );
  forEachRun(body, depth, kBegin, kEnd, (kRun) => {
    inSteps(body, kRun, 4, (active) => {
      const lanes = { lane: kRun.inner, across: run.inner, active };
      let b: Regs = [];
      scope.vectorise(
        { ...lanes, groups: columns },
        () => (b = operandRegs(builder, problem.b, columns)),
      );
      const packed = packedBytes === null ? null : packedAddress(builder, kRun);
      // A is the same for every column: one group will do.
      scope.vectorise({ ...lanes, groups: 1 }, () => {
        forEachRow(builder, (row) => {
          const a =
            packed === null
              ? operandRegs(builder, problem.a, 1)
              : packedRegs(builder, packed, row * packedBytes!);
          accs[row].forEach((acc, i) => {
            if (active === 4) accumulate(builder, acc, a[i % perGroup], b[i]);
            else if (i % perGroup === 0) accumulateFirst(builder, acc, a[0], b[i]);
          });
        });
      });
    });
  });
  const at = sumAddress(builder, run, scope.variable(run.inner));
  accs.forEach((acc, row) => storeTotals(builder, acc, at, row * builder.rowBytes, columns));
}

/** Address of the open step's elements in the first packed row. */
function packedAddress({ f, body, problem }: Builder, run: Run): Local<'i32'> {
  const position = op('i32.sub', sum(run.flat, body.scope.variable(run.inner)), run.begin);
  return f.let('packed', sum(f.param('a'), scaled(position, problem.type.bytes)));
}

/** Four elements of a packed row; lanes behind the run may hold anything. */
function packedRegs({ f, problem }: Builder, at: Local<'i32'>, offset: number): Regs {
  const parts = registersPerGroup(kindOf(problem.type.dtype));
  return Array.from({ length: parts }, (_, part) =>
    f.let('a', memory('v128.load', offset + 16 * part, at)),
  );
}

function accumulate({ f, problem, options }: Builder, acc: Local<'v128'>, a: Reg, b: Reg): void {
  f.set(acc, multiplyAdd(problem.type, options.relaxedSimd, acc, a, b));
}

/** Adds the product of the first lanes only; the others may hold anything. */
function accumulateFirst({ f, problem }: Builder, acc: Local<'v128'>, a: Reg, b: Reg): void {
  const mask = problem.type.lanes === 4 ? i32x4(-1, 0, 0, 0) : i32x4(-1, -1, 0, 0);
  f.set(acc, problem.type.add(acc, op('v128.and', problem.type.mul(a, b), mask)));
}

/** Adds up the lanes of each column's registers and stores the totals next to each other. */
function storeTotals(
  { f, problem }: Builder,
  acc: readonly Local<'v128'>[],
  at: Local<'i32'>,
  offset: number,
  columns: number,
): void {
  const { type } = problem;
  const { lanes } = type;
  const perColumn = acc.length / columns;
  const folded = Array.from({ length: columns }, (_, c) => {
    const [first, second] = acc.slice(c * perColumn, (c + 1) * perColumn);
    return second === undefined ? first : f.let('sum', type.add(first, second));
  });
  for (let c = 0; c < columns; c += lanes) {
    const square = Array.from({ length: lanes }, (_, i) => folded[Math.min(c + i, columns - 1)]);
    const total = f.let(
      'total',
      transpose(f, lanes, square).reduce((a, b) => type.add(a, b)),
    );
    const place = offset + c * type.bytes;
    if (columns - c >= lanes) f.do(memory('v128.store', place, at, total));
    else
      for (let i = 0; c + i < columns; i++)
        f.do(laneMemory(type.storeLane, place + i * type.bytes, i, at, total));
  }
}

/** Vectors along the columns, several k at a time. */
function scaledRows(builder: Builder): void {
  const { f, body, depth, tile } = builder;
  const [colBegin, colEnd] = colRange(builder);
  const [kBegin, kEnd] = depthRange(builder);
  const bytes = tile.rows * builder.rowBytes;
  f.do(op('memory.fill', f.param('c'), i32(0), i32(bytes)));
  forEachRun(body, depth, kBegin, kEnd, (kRun) =>
    inSteps(body, kRun, tile.vectors, (steps) =>
      addRows(builder, kRun.inner, steps, colBegin, colEnd),
    ),
  );
}

function addRows(
  builder: Builder,
  k: string,
  steps: number,
  colBegin: Local<'i32'>,
  colEnd: Local<'i32'>,
): void {
  const { body, cols, problem } = builder;
  const { scope } = body;
  const inner = cols[cols.length - 1];
  const a: Regs[] = [];
  scope.vectorise({ lane: inner.name, across: k, groups: steps, active: 4 }, () => {
    forEachRow(builder, () => a.push(operandRegs(builder, problem.a, steps)));
  });
  forEachRun(body, cols, colBegin, colEnd, (run) => {
    const middle = wholeSteps(body, run, 4);
    const tail = cols.length === 1 ? (extent(problem.b.lines) as number) % 4 : 1;
    const parts = [
      [run.begin, middle, 4, 4],
      [middle, run.end, cols.length === 1 ? 4 : 1, tail],
    ] as const;
    for (const [begin, end, step, active] of parts) {
      if (active === 0) continue;
      scope.loop(run.inner, begin, end, step, () => {
        scope.vectorise({ lane: run.inner, across: k, groups: steps, active }, () =>
          addVector(builder, run, a, steps, step === 1),
        );
      });
    }
  });
}

function addVector(
  builder: Builder,
  run: Run,
  a: readonly Regs[],
  steps: number,
  single: boolean,
): void {
  const { f, body, problem, options, rowBytes } = builder;
  const { type } = problem;
  const perGroup = registersPerGroup(kindOf(type.dtype));
  const b = operandRegs(builder, problem.b, steps);
  const at = sumAddress(builder, run, body.scope.variable(run.inner));
  a.forEach((elements, row) => {
    for (let part = 0; part < perGroup; part++) {
      if (single && part > 0) continue;
      const offset = row * rowBytes + part * 16;
      let total: Code<'v128'> = memory('v128.load', offset, at);
      for (let g = 0; g < steps; g++) {
        const i = g * perGroup + part;
        total = multiplyAdd(type, options.relaxedSimd, total, elements[i], b[i]);
      }
      f.do(
        single
          ? laneMemory(type.storeLane, offset, 0, at, total)
          : memory('v128.store', offset, at, total),
      );
    }
  });
}
