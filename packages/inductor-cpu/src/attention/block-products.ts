/**
 * @file Statements on blocks of products: packing, and register tiles over a block.
 */
import type {
  AttentionKernel,
  BlockProduct,
  BlockSide,
  BlockStmt,
  IndexExpr,
  ScheduledKernel,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { i32, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { boundOf } from '../loops/place-code.js';
import { operandBase } from '../matmul/gemm.js';
import {
  directAccess,
  expressionAccess,
  panelAccess,
  type OperandAccess,
} from '../matmul/gemm-operands.js';
import { decodeIndex, scaled } from '../matmul/index-code.js';
import { microKernel } from '../matmul/micro-kernel.js';
import { multiplyBlock, Tiles, type TiledProduct } from '../matmul/multiply-block.js';
import { type MatmulProblem, problemOf } from '../matmul/problem.js';

/** A product with the code of its parts. */
interface MadeProduct {
  readonly product: BlockProduct;
  readonly problem: MatmulProblem;
  readonly a: OperandAccess;
  readonly b: OperandAccess;
  readonly tiled: TiledProduct;
  readonly tiles: Tiles;
}

/** See the file header. */
export class BlockProducts {
  readonly #made: ReadonlyMap<string, MadeProduct>;
  /** Where the blocks are that are ready, by product and side. */
  readonly #ready = new Map<string, Local<'i32'>>();

  constructor(
    private readonly body: BodyEmitter,
    scheduled: ScheduledKernel,
    options: KernelOptions,
  ) {
    const kernel = scheduled.kernel as AttentionKernel<Size>;
    this.#made = new Map(
      scheduled.products!.map((product) => [product.name, madeProduct(kernel, product, options)]),
    );
  }

  /** Makes a block ready. */
  pack({ product: name, side, batch, lines, steps }: Extract<BlockStmt, { kind: 'pack' }>): void {
    const { body } = this;
    const { f } = body;
    const { problem, product, ...sides } = this.#made.get(name)!;
    const { layout } = product[side];
    const flat = this.#local('entry', batch);
    const entry = { flat, vars: decodeIndex(f, problem.batch, flat, (size) => body.size(size)) };
    const range = {
      args: f.param('args'),
      batch: flat,
      base: operandBase(f, problem, problem[side], entry),
      origin: [this.#local('line', lines[0])],
      extent: [this.#local('lines', lines[1])],
      step: this.#local('step', steps[0]),
      steps: this.#local('steps', steps[1]),
    };
    const array = 'array' in layout ? body.buffer(layout.array).pointer : range.base;
    this.#ready.set(`${name}.${side}`, f.let(side, sides[side].prepare(f, range, array)));
  }

  /** Multiplies the blocks that are ready. */
  multiply({
    product: name,
    rows,
    columns,
    steps,
    at,
    onto,
  }: Extract<BlockStmt, { kind: 'product' }>): void {
    const { body } = this;
    const { f } = body;
    const { problem, product, tiled, tiles } = this.#made.get(name)!;
    const block = (side: 'a' | 'b'): Local<'i32'> => {
      const { layout } = product[side];
      return layout.kind === 'made'
        ? body.buffer(layout.array).pointer
        : this.#ready.get(`${name}.${side}`)!;
    };
    const to = body.buffer(product.to).pointer;
    const place = scaled(this.#local('place', at), problem.type.bytes);
    multiplyBlock(f, tiled, tiles, {
      a: block('a'),
      b: block('b'),
      c: f.let('c', op('i32.add', to, place)),
      rows: this.#local('rows', rows),
      columns: { lines: this.#local('columns', columns) },
      rounds: this.#local('steps', steps),
      accumulate: this.#local('onto', onto),
    });
  }

  #local(name: string, index: IndexExpr): Local<'i32'> {
    const bound = boundOf(this.body, index);
    return typeof bound === 'number' ? this.body.f.let(name, i32(bound)) : bound;
  }
}

function madeProduct(
  kernel: AttentionKernel<Size>,
  product: BlockProduct,
  options: KernelOptions,
): MadeProduct {
  const { steps, tile, ends, row } = product;
  const side = ({ lines, value }: BlockSide, other: BlockSide) => ({
    lines,
    expr: (value ?? other.value)!,
  });
  const sides = { a: side(product.a, product.b), b: side(product.b, product.a) };
  const problem = problemOf({ kernel, depth: steps, ...sides }, options.sizes);
  const [a, b] = (['a', 'b'] as const).map((name) => accessOf(problem, product, name, options));
  const { type } = problem;
  const blocking = { tileRows: tile.rows, tileVectors: tile.vectors };
  const rowBytes = row * type.bytes;
  const tiles = new Tiles((rows, vectors) =>
    microKernel({
      type,
      relaxed: options.relaxedSimd,
      rows,
      vectors,
      aRow: a!.strides.line,
      aStep: rows === tile.rows ? a!.strides.step : a!.strides.tailStep,
      bStep: vectors === tile.vectors ? b!.strides.step : b!.strides.tailStep,
      cRow: rowBytes,
    }),
  );
  const tiled: TiledProduct = {
    problem: { type, rowCount: ends[0], colCount: ends[1] },
    blocking,
    columns: { tail: 'one' },
    a: a!,
    b: b!,
    output: { rowBytes },
  };
  return { product, problem, a: a!, b: b!, tiled, tiles };
}

/** How tiles get at the blocks of a side. */
function accessOf(
  problem: MatmulProblem,
  product: BlockProduct,
  side: 'a' | 'b',
  options: KernelOptions,
): OperandAccess {
  const { type } = problem;
  const { layout } = product[side];
  const operand = problem[side];
  const { rows: tileRows, vectors: tileVectors } = product.tile;
  if (layout.kind === 'made') {
    const [line, step] = [layout.line, layout.step].map((count) => count * type.bytes);
    const tile = (side === 'a' ? tileRows : tileVectors * type.lanes) * line!;
    const strides = { line: line!, step: step!, tailStep: step!, tile };
    return { strides, scratchBytes: 0, prepare: (_f, range) => range.base };
  }
  if (layout.kind === 'in place') return directAccess(problem, operand.plain!, tileRows);
  const { lines, steps } = layout;
  const blocking = {
    tileRows,
    tileVectors,
    rowsPerItem: lines,
    colBlock: lines,
    depthBlock: steps,
  };
  return layout.kind === 'panels'
    ? panelAccess(problem, operand, operand.plain!, blocking)
    : expressionAccess(problem, operand, blocking, options, layout.anywhere ? 1 : undefined);
}
