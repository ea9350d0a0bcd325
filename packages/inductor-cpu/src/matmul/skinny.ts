/**
 * @file Products with up to three rows (after orientation): matrix times vector and the like.
 *
 * Every element of B is used once or a few times, so the work is reading B: nothing is packed, and both
 * operands are evaluated where they are used. If B is adjacent along k (a linear layer's weights), each
 * column is a dot product with vectors along k; if it is adjacent along the columns, rows of B are
 * scaled and added up, a few k at a time so that the sums are touched less often.
 * Sums go to scratch, from which the epilogue stores.
 */
import { roundUp, adjacency, mergedSpace } from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import type { Reg, Regs } from '../body/vector-builder.js';
import { call, i32, i32x4, laneMemory, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import { multiplyAdd } from './element-type.js';
import { epilogueFunction } from './epilogue.js';
import { minimum, scaled, sum } from './index-code.js';
import { keepRows, keptAddress, keptRegs, keptRowBytes } from './kept-rows.js';
import { bindBatch, forEachRun, type Run } from './matmul-space.js';
import { transpose } from './pack-plain.js';
import type { KnownProblem } from './problem.js';
import { forEachRow, operandRegs, wholeSteps, type Builder } from './skinny-builder.js';

/** Most rows for which nothing is packed. */
export const MAX_SKINNY_ROWS = 3;

/** Time to read one element of B, nearly all there is to do, in nanoseconds. */
const ELEMENT_NS = 0.12;

/** Code of a skinny product. */
export function generateSkinny(problem: KnownProblem, options: KernelOptions): WasmKernel {
  const { kernel, type, rowCount, colCount, depthCount, batchCount } = problem;
  const lines = [problem.rows, problem.cols, problem.depth];
  const both = mergedSpace(lines, problem.batch, [problem.a.expr, problem.b.expr], []);
  const [innerCol, innerDepth] = both.lists.slice(1).map((list) => list[list.length - 1].name);
  const alongDepth =
    adjacency(problem.b.expr, both.space, innerDepth) >
    adjacency(problem.b.expr, both.space, innerCol);
  // Rows that are kept are a plain run of k, whatever A's own indices are.
  const keepsRows = alongDepth && keptRowBytes(problem) > 0;
  const { space, lists } = keepsRows
    ? mergedSpace(lines, problem.batch, [problem.b.expr], [])
    : both;
  const [rows, cols, depth] = lists;
  const colBlock = alongDepth
    ? Math.min(256, roundUp(Math.ceil(colCount / 16), 8))
    : Math.min(4096, Math.max(128, roundUp(Math.ceil(colCount / 4), 8)));
  const rowBytes = (roundUp(colBlock, 8) + 8) * type.bytes;

  const params = { args: 'i32', batch: 'i32', col: 'i32', cols: 'i32', c: 'i32' } as const;
  const sums = new WasmFunction(`${kernel.name}_sums`, params);
  const body = new BodyEmitter(sums, kernel, space, options);
  bindBatch(body, problem.batch, sums.param('batch'));
  const builder: Builder = { problem, options, f: sums, body, rows, cols, depth, rowBytes };
  if (alongDepth) dotProducts(builder, keepsRows ? keepRows(problem, options) : null);
  else scaledRows(builder);

  const epilogue = epilogueFunction(problem, rowBytes, colBlock, options);
  const colItems = Math.ceil(colCount / colBlock);
  const f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
  f.for('item', f.param('begin'), f.param('end'), 1, (item) => {
    const batch = f.let('batch', op('i32.div_u', item, i32(colItems)));
    const col = f.let('col', scaled(op('i32.rem_u', item, i32(colItems)), colBlock));
    const count = minimum(f, 'cols', i32(colBlock), op('i32.sub', i32(colCount), col));
    f.do(call(sums, f.param('args'), batch, col, count, SCRATCH));
    f.do(call(epilogue, f.param('args'), batch, i32(0), i32(rowCount), col, count, SCRATCH));
  });
  return {
    name: kernel.name,
    func: f,
    workItems: batchCount * colItems,
    sizes: options.sizes.list,
    costPerItem: Math.min(colBlock, colCount) * depthCount * ELEMENT_NS * (type.bytes / 4),
    scratchBytesPerThread: rowCount * (rowBytes + (keepsRows ? keptRowBytes(problem) : 0)) + 64,
    schedule: () => ({
      kernel: kernel.name,
      facts: {
        'lanes of a vector': alongDepth ? 'along k' : 'along columns',
        'columns of a work item': colBlock,
        'work items': batchCount * colItems,
      },
    }),
  };
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
  return [f.let('k_begin', i32(0)), f.let('k_end', i32(problem.depthCount))];
}

/** Vectors along k, several columns at a time: as many as the registers hold sums for. */
function dotProducts(builder: Builder, keep: WasmFunction | null): void {
  const { f, body, cols, problem } = builder;
  const atOnce = problem.rowCount === 1 ? 4 : 2;
  const [colBegin, colEnd] = colRange(builder);
  const range = depthRange(builder);
  if (keep !== null) {
    const kept = sum(f.param('c'), i32(problem.rowCount * builder.rowBytes));
    f.do(call(keep, f.param('args'), f.param('batch'), kept));
  }
  forEachRun(body, cols, colBegin, colEnd, (run) => {
    const middle = wholeSteps(f, run, atOnce);
    for (const [begin, end, columns] of [
      [run.begin, middle, atOnce],
      [middle, run.end, 1],
    ] as const) {
      body.scope.loop(run.inner, begin, end, columns, () =>
        dotColumns(builder, run, range, columns, keep !== null),
      );
    }
  });
}

function dotColumns(
  builder: Builder,
  run: Run,
  [kBegin, kEnd]: [Local<'i32'>, Local<'i32'>],
  columns: number,
  isKept: boolean,
): void {
  const { f, body, depth, problem } = builder;
  const { scope } = body;
  const perGroup = registersPerGroup(kindOf(problem.type.dtype));
  const accs = Array.from({ length: problem.rowCount }, () =>
    Array.from({ length: columns * perGroup }, () => f.let('sum', i32x4(0))),
  );
  forEachRun(body, depth, kBegin, kEnd, (kRun) => {
    const middle = wholeSteps(f, kRun, 4);
    for (const [begin, end, active] of [
      [kRun.begin, middle, 4],
      [middle, kRun.end, 1],
    ] as const) {
      scope.loop(kRun.inner, begin, end, active, () => {
        const lanes = { lane: kRun.inner, across: run.inner, active };
        let b: Regs = [];
        scope.vectorise(
          { ...lanes, groups: columns },
          () => (b = operandRegs(builder, problem.b, columns)),
        );
        const kept = isKept ? keptAddress(builder, kRun) : null;
        // A is the same for every column: one group will do.
        scope.vectorise({ ...lanes, groups: 1 }, () => {
          forEachRow(builder, (row) => {
            const a =
              kept === null ? operandRegs(builder, problem.a, 1) : keptRegs(builder, kept, row);
            accs[row].forEach((acc, i) => {
              if (active === 4) accumulate(builder, acc, a[i % perGroup], b[i]);
              else if (i % perGroup === 0) accumulateFirst(builder, acc, a[0], b[i]);
            });
          });
        });
      });
    }
  });
  const at = sumAddress(builder, run, scope.variable(run.inner));
  accs.forEach((acc, row) => storeTotals(builder, acc, at, row * builder.rowBytes, columns));
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
  const { f, body, depth, problem } = builder;
  const [colBegin, colEnd] = colRange(builder);
  const [kBegin, kEnd] = depthRange(builder);
  const bytes = problem.rowCount * builder.rowBytes;
  f.do(op('memory.fill', f.param('c'), i32(0), i32(bytes)));
  // With several rows, fewer k at a time leave registers for their elements of A.
  const atOnce = problem.rowCount === 1 ? 4 : 2;
  forEachRun(body, depth, kBegin, kEnd, (kRun) => {
    const middle = wholeSteps(f, kRun, atOnce);
    for (const [begin, end, steps] of [
      [kRun.begin, middle, atOnce],
      [middle, kRun.end, 1],
    ] as const) {
      body.scope.loop(kRun.inner, begin, end, steps, () =>
        addRows(builder, kRun.inner, steps, colBegin, colEnd),
      );
    }
  });
}

function addRows(
  builder: Builder,
  k: string,
  steps: number,
  colBegin: Local<'i32'>,
  colEnd: Local<'i32'>,
): void {
  const { f, body, cols, problem } = builder;
  const { scope } = body;
  const inner = cols[cols.length - 1];
  const a: Regs[] = [];
  scope.vectorise({ lane: inner.name, across: k, groups: steps, active: 4 }, () => {
    forEachRow(builder, () => a.push(operandRegs(builder, problem.a, steps)));
  });
  forEachRun(body, cols, colBegin, colEnd, (run) => {
    const middle = wholeSteps(f, run, 4);
    const tail = cols.length === 1 ? problem.colCount % 4 : 1;
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
