/**
 * @file Statements and loops of the reference interpreter: what kernels of every kind run.
 */
import type { DType } from '@tessera/tensor';
import {
  bfloatToNumber,
  halfToNumber,
  numberToBfloat,
  numberToHalf,
} from '@tessera/tensor/internal';
import type { Combine, Stmt } from './expr.js';
import type { LoopVar } from './index-expr.js';
import { type Cell, type Frame, Program } from './interpret-program.js';
import { castScalar, isFloat } from './scalar-eval.js';

/** A program followed by effects. */
export function compileBody(
  frame: Frame,
  body: readonly Stmt[],
  effect: (stmt: Stmt, value: Cell, index: Cell | null) => () => void,
): () => void {
  const program = new Program(frame);
  for (const stmt of body) {
    const value = program.compile(stmt.value);
    const index = stmt.kind === 'store' ? program.indexCell(stmt.index) : null;
    program.steps.push(effect(stmt, value, index));
  }
  return () => program.run();
}

/** A value as it reads back from a buffer of its dtype. */
function stored(value: number, dtype: DType): number {
  if (dtype === 'float16') return halfToNumber(numberToHalf(value));
  if (dtype === 'bfloat16') return bfloatToNumber(numberToBfloat(value));
  return isFloat(dtype) ? value : castScalar(value, dtype, dtype);
}

function combined(combine: Combine, old: number, value: number): number {
  return combine === 'sum' ? old + value : Math.max(old, value);
}

/** A store as an effect. */
export function storeEffect(
  frame: Frame,
  stmt: Extract<Stmt, { kind: 'store' }>,
  value: Cell,
  index: Cell,
): () => void {
  const data = frame.buffer(stmt.buf);
  const { dtype } = stmt.value;
  return () => {
    const at = index();
    if (at < 0 || at >= data.length)
      frame.fail(`store ${stmt.buf}[${at}] is outside its ${data.length} elements`);
    const met =
      stmt.combine === undefined ? value() : combined(stmt.combine, Number(data[at]), value());
    const v = stored(met, dtype);
    if (data instanceof BigInt64Array) data[at] = BigInt(v);
    else data[at] = v;
  };
}

/** Calls `visit` for every point of a loop nest, last variable fastest. */
export function forEachPoint(frame: Frame, vars: readonly LoopVar[], visit: () => void): void {
  const cells = vars.map((v) => frame.variable(v.name));
  let total = 1;
  for (const v of vars) total *= v.size;
  for (const cell of cells) cell.value = 0;
  for (let i = 0; i < total; i++) {
    visit();
    for (let d = vars.length - 1; d >= 0; d--) {
      if (++cells[d]!.value < vars[d]!.size) break;
      cells[d]!.value = 0;
    }
  }
}

/** A body that only stores. */
export function compileStores(frame: Frame, body: readonly Stmt[]): () => void {
  return compileBody(frame, body, (stmt, value, index) =>
    storeEffect(frame, stmt as Extract<Stmt, { kind: 'store' }>, value, index!),
  );
}
