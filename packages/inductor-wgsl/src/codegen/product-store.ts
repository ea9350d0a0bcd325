/**
 * @file The function that runs a product's epilogue on four results along n.
 */
import { isMultiple } from '@tessera/shared';
import {
  stmtRoots,
  type SizedLoop,
  type Stmt,
  extent,
  type LaneContext,
} from '@tessera/inductor-core';
import { CodeBlock } from './code-block.js';
import { ExprEmitter } from './expr-emitter.js';
import { decompose } from './loop-vars.js';
import { decomposeLanes, lanesAlong } from './matmul-operand.js';
import type { ProgramBuilder } from './program.js';
import { emitStore } from './store-emitter.js';
import { typeName, type ScalarType } from './wgsl-types.js';

/** What is stored, and of which tiles. */
export interface ProductStore {
  readonly epilogue: readonly Stmt[];
  /** Of `lanesAlong(n)`, with vectors as results. */
  readonly context: LaneContext;
  readonly batch: readonly SizedLoop[];
  readonly m: readonly SizedLoop[];
  readonly n: readonly SizedLoop[];
  /** Rows and columns of a tile; what lies beyond the ends is not stored. */
  readonly bm: number;
  readonly bn: number;
  /** Type of results, and the parameters that hold them. */
  readonly type: ScalarType;
  readonly products: readonly string[];
  /** Text of a test of results that are not stored. */
  readonly isLeft?: string;
}

/** Adds `fn store_c(batch, down, along, products…)`. */
export function addStoreFunction(builder: ProgramBuilder, store: ProductStore): void {
  const { epilogue, context, batch, m, n, bm, bn, type, products, isLeft } = store;
  const block = new CodeBlock();
  const width = extent(n);
  const ragged = !isMultiple(width, 4);
  const end = (): string => builder.size(width);
  const height = extent(m);
  const tests = [
    ...(isMultiple(height, bm) ? [] : [`down >= ${builder.size(height)}`]),
    ...(isMultiple(width, bn) ? [] : [`along >= ${end()}`]),
    ...(isLeft === undefined ? [] : [isLeft]),
  ];
  if (tests.length > 0) block.line(`if (${tests.join(' || ')}) { return; }`);
  const symbols = new Map([
    ...decompose(block, builder, batch, 'batch'),
    ...decompose(block, builder, m, 'down'),
    ...decomposeLanes(block, builder, n, lanesAlong(n), 'along'),
  ]);
  const emitter = new ExprEmitter(builder, context, epilogue.flatMap(stmtRoots));
  emitter.enter(block, symbols);
  for (const [id, text] of products.entries())
    emitter.setAcc(id, { text, type, width: 4, atom: true });
  const full = new CodeBlock();
  const partial = new CodeBlock();
  for (const stmt of epilogue) {
    if (stmt.kind !== 'store') continue;
    emitStore(emitter, stmt, {
      full,
      ...(ragged && {
        partial: { block: partial, condition: (j: number) => `along + ${j}u < ${end()}` },
      }),
    });
  }
  if (ragged) {
    block.nest(`if (along + 3u < ${end()})`, full);
    block.nest('else', partial);
  } else {
    block.append(full);
  }
  const vector = typeName(type, 4);
  const parameters = products.map((name) => `${name}: ${vector}`).join(', ');
  builder.addFunction(`store_c(batch: u32, down: u32, along: u32, ${parameters})`, block);
}
