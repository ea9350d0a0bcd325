/**
 * @file `pairedBytes`: sums of products with packed weights of 8 bits, of which a step takes two words.
 *
 * The bytes of a word are a vector as they are. Two neighbouring words are one access of 8 bytes, and so are two vectors
 * of halves of 16; a step's two vectors are added to the sums one after the other, as those of `pairedHalves` are.
 */
import type { Size } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { fastest } from '../../ir/loop-vars.js';
import { postorder } from '../../ir/walk.js';
import { wordPart } from '../../ir/word-part.js';

/** Parts of a word, and their bits. */
const PARTS = 4;
const BITS = 8;
/** Words of a step. */
const WORDS = 2;

/** See the file header; the same object where there are no such sums. */
export function pairedBytes(kernel: LoopKernel<Size>): LoopKernel<Size> {
  const part = fastest(kernel.inner);
  const words = kernel.inner.at(-2);
  const inner = kernel.stages.filter(({ kind }) => kind === 'inner');
  const body = inner.flatMap((stage) => stage.body);
  if (part?.size !== PARTS || part !== kernel.inner.at(-1) || inner.length !== 1) return kernel;
  if (typeof words?.size !== 'number' || words.size % WORDS !== 0) return kernel;
  if (!body.every(isSum) || !hasBytes(body, part.name)) return kernel;
  const ir = new IrBuilder();
  const steps = { name: words.name, size: words.size / WORDS };
  for (const { name, size } of [...kernel.outer, ...kernel.inner])
    ir.sym(name, name === words.name ? steps.size : size);
  const values = body.map(({ value }) => value);
  const [low, high] = Array.from({ length: WORDS }, (_, word) => {
    const place = ir.add(ir.mul(ir.sym(words.name), ir.int(WORDS)), ir.int(word));
    const symbol = (name: string): IndexExpr | undefined =>
      name === words.name ? place : undefined;
    return ir.rewrite(values, { symbol });
  });
  const both = body.map((stmt, i): Stmt => {
    return { ...stmt, value: ir.op('add', [low![i]!, high![i]!]) };
  });
  return {
    ...kernel,
    inner: kernel.inner.map((loop) => (loop === words ? steps : loop)),
    stages: kernel.stages.map((stage) => (stage === inner[0] ? { ...stage, body: both } : stage)),
  };
}

function isSum(stmt: Stmt): boolean {
  return stmt.kind === 'reduce' && stmt.op === 'sum' && stmt.value.dtype === 'float32';
}

/** Whether a sum is of bytes of words, the variable being the place of a byte. */
function hasBytes(body: readonly Stmt[], variable: string): boolean {
  return postorder(body.map(({ value }) => value)).some((expr: Expr) => {
    const part = wordPart(expr);
    const index = part?.bits === BITS ? part.place.index : null;
    return index?.kind === 'sym' && index.name === variable;
  });
}
