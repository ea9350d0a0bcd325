/**
 * @file Rows of A that a product with few rows computes once for all columns of a work item.
 *
 * An element of A that is more than a load (a number of 16 bits, a normalised activation) would be computed again for
 * every few columns. The rows are kept in scratch behind the sums, in the accumulator's type, in the order of k.
 */
import { roundUp, mergedSpace } from '@tessera/inductor-core';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { Regs } from '../body/vector-builder.js';
import { i32, laneMemory, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, type Run } from './matmul-space.js';
import type { KnownProblem } from './problem.js';
import { forEachRow, operandRegs, wholeSteps, type Builder } from './skinny-builder.js';

/** Most scratch for rows, in bytes: they should stay in the nearest cache. */
const MAX_BYTES = 65536;

/** Bytes between rows that are kept, or 0 when they are evaluated where they are used. */
export function keptRowBytes({ a, type, depthCount, rowCount }: KnownProblem): number {
  const bytes = (roundUp(depthCount, 8) + 8) * type.bytes;
  return a.plain === null && rowCount * bytes <= MAX_BYTES ? bytes : 0;
}

/** The function `(args, batch, to)` that fills the rows. */
export function keepRows(problem: KnownProblem, options: KernelOptions): WasmFunction {
  const { kernel, type, a, batch, depthCount } = problem;
  const f = new WasmFunction(`${kernel.name}_rows`, { args: 'i32', batch: 'i32', to: 'i32' });
  const { space, lists } = mergedSpace([problem.rows, problem.depth], batch, [a.expr], []);
  const [rows, depth] = lists;
  const body = new BodyEmitter(f, kernel, space, options);
  bindBatch(body, batch, f.param('batch'));
  const [begin, end] = [f.let('k_begin', i32(0)), f.let('k_end', i32(depthCount))];
  const vectorsOf = (run: Run, active: number): void => {
    const position = op('i32.sub', sum(run.flat, body.scope.variable(run.inner)), run.begin);
    const at = f.let('at', sum(f.param('to'), scaled(position, type.bytes)));
    body.scope.vectorise({ lane: run.inner, across: run.inner, groups: 1, active }, () => {
      forEachRow({ f, body, rows, problem }, (row) => {
        operandRegs({ body, problem }, a, 1).forEach((reg, part) => {
          const offset = row * keptRowBytes(problem) + 16 * part;
          if (active === 4) f.do(memory('v128.store', offset, at, reg));
          else if (part === 0) f.do(laneMemory(type.storeLane, offset, 0, at, reg));
        });
      });
    });
  };
  forEachRun(body, depth, begin, end, (run) => {
    const middle = wholeSteps(f, run, 4);
    body.scope.loop(run.inner, run.begin, middle, 4, () => vectorsOf(run, 4));
    body.scope.loop(run.inner, middle, run.end, 1, () => vectorsOf(run, 1));
  });
  return f;
}

/** Four elements of a row that was kept, at the open step of a run of k; lanes behind the run may hold anything. */
export function keptRegs(builder: Builder, at: Local<'i32'>, row: number): Regs {
  const { f, problem } = builder;
  const parts = registersPerGroup(kindOf(problem.type.dtype));
  const offset = rowOffset(builder, row);
  return Array.from({ length: parts }, (_, part) =>
    f.let('a', memory('v128.load', offset + 16 * part, at)),
  );
}

/** Address of the open step's elements, less the offset of a row. */
export function keptAddress({ f, body, problem }: Builder, run: Run): Local<'i32'> {
  const position = op('i32.sub', sum(run.flat, body.scope.variable(run.inner)), run.begin);
  return f.let('kept', sum(f.param('c'), scaled(position, problem.type.bytes)));
}

function rowOffset({ problem, rowBytes }: Builder, row: number): number {
  return problem.rowCount * rowBytes + row * keptRowBytes(problem);
}
