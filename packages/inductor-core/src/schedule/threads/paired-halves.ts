/**
 * @file `pairedHalves`: sums over rows of float16, of which a step takes eight neighbours.
 *
 * Four halves are 8 bytes, and memory is busy only with accesses of 16 (paired-elements.ts). A step's two vectors
 * are better added to the sums one after the other: their own sum needs registers for both, and fewer threads have room.
 */
import type { Size } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { fastest } from '../../ir/loop-vars.js';
import { indexSymbols, postorder } from '../../ir/walk.js';
import { laneAccess } from './lane-access.js';
import { pairedPlace } from './paired-elements.js';

/** Elements of a step, and of a vector. */
const STEP = 8;
const LANES = 4;

/** See the file header; the same object where there are no such sums. */
export function pairedHalves(kernel: LoopKernel<Size>): LoopKernel<Size> {
  const along = fastest(kernel.inner);
  const inner = kernel.stages.filter(({ kind }) => kind === 'inner');
  const body = inner.flatMap((stage) => stage.body);
  if (typeof along?.size !== 'number' || along.size % STEP !== 0) return kernel;
  if (inner.length !== 1 || !body.every(isSum) || !readsHalves(kernel, body, along)) return kernel;
  const ir = new IrBuilder();
  const steps = { name: along.name, size: along.size / STEP };
  const lanes = { name: laneName(kernel, along.name), size: LANES };
  for (const { name, size } of [...kernel.outer, ...kernel.inner])
    ir.sym(name, name === along.name ? steps.size : size);
  const first = ir.add(ir.mul(ir.sym(along.name), ir.int(STEP)), ir.sym(lanes.name, LANES));
  const part = (offset: number): Expr[] => {
    const place = ir.add(first, ir.int(offset));
    const symbol = (name: string): IndexExpr | undefined =>
      name === along.name ? place : undefined;
    return ir.rewrite(
      body.map(({ value }) => value),
      { symbol },
    );
  };
  const [low, high] = [part(0), part(LANES)];
  const both = body.map((stmt, i): Stmt => {
    return { ...stmt, value: ir.op('add', [low[i]!, high[i]!]) };
  });
  return {
    ...kernel,
    inner: kernel.inner.flatMap((loop) => (loop === along ? [steps, lanes] : [loop])),
    stages: kernel.stages.map((stage) => (stage === inner[0] ? { ...stage, body: both } : stage)),
  };
}

/** A name that no variable of the kernel has. */
function laneName({ outer, inner }: LoopKernel<Size>, along: string): string {
  let name = `${along}_lane`;
  while ([...outer, ...inner].some((loop) => loop.name === name)) name += '_';
  return name;
}

function isSum(stmt: Stmt): boolean {
  return stmt.kind === 'reduce' && stmt.op === 'sum' && stmt.value.dtype === 'float32';
}

/** Whether every point sums halves of its own that lie side by side, and nothing that does not. */
function readsHalves(
  { outer }: LoopKernel<Size>,
  body: readonly Stmt[],
  along: SizedLoop,
): boolean {
  const none = { step: 1, scattered: new Set<string>(), alignments: new Map<string, number>() };
  const facts = { ...none, lane: along.name, isUniform: () => false };
  const points = new Set(outer.map(({ name }) => name));
  let count = 0;
  for (const expr of postorder(body.map(({ value }) => value))) {
    if (expr.kind !== 'load') continue;
    const symbols = indexSymbols(expr.index);
    if (![...points].some((name) => symbols.has(name))) continue;
    const { stride } = laneAccess(expr.index, facts);
    // Rows begin at whole steps, so both vectors of one are in one access.
    const isWhole = stride === 1 && pairedPlace(expr.index, LANES, along.name) !== null;
    if (!isWhole || expr.dtype !== 'float16') return false;
    count++;
  }
  return count > 0;
}
