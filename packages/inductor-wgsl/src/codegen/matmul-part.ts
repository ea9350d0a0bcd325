/**
 * @file A product whose results two kernels make between them: some rows and columns are left to a second kernel, the
 * rest, whose workgroups end at once where there is nothing left. Every result is made by one of the two, from the
 * epilogue's loads to its stores, so that what it is stored over may be what it is made of.
 */
import {
  extent,
  LaneContext,
  type Expr,
  type MatmulKernel,
  type SizedLoop,
} from '@tessera/inductor-core';
import { isMultiple, type Size } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { ExprEmitter } from './expr-emitter.js';
import { decompose } from './loop-vars.js';
import type { ProgramBuilder } from './program.js';

/** Which results of a product a kernel stores. */
export interface ResultShare {
  readonly of: 'first' | 'rest';
  /** Over batch and m, and over batch and n: where one holds, a result (and its group of four) is left to the rest. */
  readonly rows: Expr;
  readonly columns: Expr;
}

/** A product that makes some of its results. */
export interface PartialMatmul<S extends Size = number> extends MatmulKernel<S> {
  readonly share: ResultShare;
}

/** Which results a product makes; null for all. */
export function shareOf(kernel: MatmulKernel<Size>): ResultShare | null {
  return 'share' in kernel ? (kernel as PartialMatmul<Size>).share : null;
}

/** Adds what tells the results apart. Gives the text of a test of those that `store_c` leaves alone. */
export function addShareFunctions(
  builder: ProgramBuilder,
  kernel: MatmulKernel<Size>,
  { of, rows, columns }: ResultShare,
): string {
  addTest(builder, 'left_row', kernel.batch, kernel.m, rows);
  addTest(builder, 'left_column', kernel.batch, kernel.n, columns);
  const width = extent(kernel.n);
  const block = new CodeBlock();
  const tests = [0, 1, 2, 3].map((j) => {
    const at = j === 0 ? 'along' : `along + ${j}u`;
    const inside = isMultiple(width, 4) ? at : `min(${at}, ${builder.size(width)} - 1u)`;
    return `left_column(batch, ${inside})`;
  });
  block.line(`return left_row(batch, down) || ${tests.join(' || ')};`);
  builder.addFunction('is_left(batch: u32, down: u32, along: u32) -> bool', block);
  return `${of === 'rest' ? '!' : ''}is_left(batch, down, along)`;
}

function addTest(
  builder: ProgramBuilder,
  name: string,
  batch: readonly SizedLoop[],
  x: readonly SizedLoop[],
  test: Expr,
): void {
  const block = new CodeBlock();
  const symbols = new Map([
    ...decompose(block, builder, batch, 'batch'),
    ...decompose(block, builder, x, 'at'),
  ]);
  const emitter = new ExprEmitter(builder, new LaneContext({}, [test]), [test]);
  emitter.enter(block, symbols);
  block.line(`return ${emitter.value(test).text};`);
  builder.addFunction(`${name}(batch: u32, at: u32) -> bool`, block);
}

/** Ends the workgroups that have no results to make, once `batch`, `first_m` and `first_n` are known. */
export function endWithoutShare(
  body: CodeBlock,
  builder: ProgramBuilder,
  kernel: MatmulKernel<Size>,
  { of }: ResultShare,
  { bm, bn, threads }: { readonly bm: number; readonly bn: number; readonly threads: number },
): void {
  const isRest = of === 'rest';
  // Of 16 bytes: what matrices are loaded from, and stored to, must begin at multiples of those.
  const array = builder.workgroupArray('some', 'atomic<u32>', 4);
  const some = ['row', 'column'].map((what, i) => {
    const found = `${array}[${i}]`;
    const [first, length, vars] =
      what === 'row' ? (['first_m', bm, kernel.m] as const) : (['first_n', bn, kernel.n] as const);
    const test = `${isRest ? '' : '!'}left_${what}(batch, at)`;
    const end = `min(${first} + ${length}u, ${builder.size(extent(vars))})`;
    body.scope(
      (loop) => loop.line(`if (${test}) { atomicStore(&${found}, 1u); }`),
      `for (var at = ${first} + lane; at < ${end}; at += ${threads}u)`,
    );
    return found;
  });
  // Each load waits for all threads, so every one of them must make both.
  for (const [i, found] of some.entries())
    body.line(`let has_${i} = workgroupUniformLoad(&${found});`);
  const [row, column] = ['has_0 == 0u', 'has_1 == 0u'];
  body.line(`if (${row} ${isRest ? '&&' : '||'} ${column}) { return; }`);
}
