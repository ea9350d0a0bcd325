/**
 * @file Statements on blocks of products: packing, and register tiles over a block.
 */
import {
  type BlockProduct,
  type BlockStmt,
  type IndexExpr,
  indexSymbols,
} from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { boundOf } from '../loops/place-code.js';
import { imageAccess } from '../windows/pack-window.js';
import { windowTile } from '../windows/window-tile.js';
import {
  type BlockRange,
  directAccess,
  expressionAccess,
  madeAccess,
  panelAccess,
  plainBase,
  type OperandAccess,
} from './gemm-operands.js';
import { scaled } from './index-code.js';
import { microKernel } from './micro-kernel.js';
import { multiplyBlock, type TiledProduct, tilesOf } from './multiply-block.js';
import { operandForm } from './operand-forms.js';
import { type MatmulProblem, type ProductKernel, problemOf } from './problem.js';
import { sumsFunction } from './skinny.js';

type Ready = { readonly block: Local<'i32'>; readonly range: BlockRange };
type PackStmt = Extract<BlockStmt, { kind: 'pack' }>;
type ProductStmt = Extract<BlockStmt, { kind: 'product' }>;

/** A product with the code of its parts. */
interface MadeProduct {
  readonly product: BlockProduct;
  readonly problem: MatmulProblem;
  readonly a: OperandAccess;
  readonly b: OperandAccess;
  /** Tiles of registers, or what sums operands that are evaluated. */
  readonly code: TiledProduct | WasmFunction;
}

/** See the file header. */
export class BlockProducts {
  readonly #made: ReadonlyMap<string, MadeProduct>;
  /** The blocks that are ready, by product and side. */
  readonly #ready = new Map<string, Ready>();

  constructor(
    private readonly body: BodyEmitter,
    kernel: ProductKernel,
    products: readonly BlockProduct[],
    options: KernelOptions,
  ) {
    this.#made = new Map(
      products.map((product) => [product.name, madeProduct(kernel, product, options)]),
    );
  }

  /** Makes a block ready. */
  pack({ product: name, side, batch, lines, steps }: PackStmt): void {
    const { body } = this;
    const { f } = body;
    const made = this.#made.get(name)!;
    const { layout } = made.product[side];
    const flat = this.#local('entry', batch);
    const range = {
      args: f.param('args'),
      batch: flat,
      base: this.#base(name, side, batch, flat),
      origin: lines.map((each) => this.#local('line', each[0])),
      extent: lines.map((each) => this.#local('lines', each[1])),
      step: this.#local('step', steps[0]),
      steps: this.#local('steps', steps[1]),
    };
    const array = 'array' in layout ? body.buffer(layout.array).pointer : range.base;
    const block = f.let(side, made[side].prepare(f, range, array));
    this.#ready.set(`${name}.${side}`, { block, range });
  }

  /** Multiplies the blocks that are ready. */
  multiply(stmt: ProductStmt): void {
    const { body } = this;
    const { f } = body;
    const { problem, product, code } = this.#made.get(stmt.product)!;
    const block = (side: 'a' | 'b'): Local<'i32'> => {
      const { layout } = product[side];
      return layout.kind === 'made'
        ? body.buffer(layout.array).pointer
        : this.#ready.get(`${stmt.product}.${side}`)!.block;
    };
    const to = body.buffer(product.to).pointer;
    const place = scaled(this.#local('place', stmt.at), problem.type.bytes);
    const c = f.let('c', op('i32.add', to, place));
    if (!('tiles' in code)) {
      const { args, batch, origin, extent } = this.#ready.get(`${stmt.product}.b`)!.range;
      return f.do(call(code, args, batch, origin[0]!, extent[0]!, block('a'), c));
    }
    const steps = this.#local('steps', stmt.steps);
    const { layout } = product.b;
    multiplyBlock(f, code, {
      a: block('a'),
      b: block('b'),
      c,
      rows: this.#local('rows', stmt.rows),
      columns: this.#local('columns', stmt.columns),
      rounds:
        layout.kind === 'image'
          ? f.let('rounds', op('i32.div_u', steps, i32(layout.taps.length)))
          : steps,
      accumulate: this.#local('onto', stmt.onto),
    });
  }

  /** Address of a plain operand's element (0, 0) in an entry of the batch, found where that is known; the number of the entry for others. */
  #base(name: string, side: 'a' | 'b', batch: IndexExpr, entry: Local<'i32'>): Local<'i32'> {
    const { problem, product } = this.#made.get(name)!;
    const { layout } = product[side];
    if (!('from' in layout) || !('buf' in layout.from)) return entry;
    const plain = layout.from;
    const { scope, f } = this.body;
    const level = scope.levelOf(indexSymbols(batch));
    const { scalars } = scope.level(level);
    const key = `${name}.${side}`;
    const found = scalars.get(key) ?? scope.at(level, () => plainBase(f, problem, plain, entry));
    scalars.set(key, found);
    return found;
  }

  #local(name: string, index: IndexExpr): Local<'i32'> {
    const bound = boundOf(this.body, index);
    return typeof bound === 'number' ? this.body.f.let(name, i32(bound)) : bound;
  }
}

function madeProduct(
  kernel: ProductKernel,
  product: BlockProduct,
  options: KernelOptions,
): MadeProduct {
  const problem = problemOf(kernel, product, options.sizes);
  const [a, b] = (['a', 'b'] as const).map((side) => accessOf(problem, product, side, options));
  const { tile, ends, row } = product;
  const { type } = problem;
  const { layout } = product.b;
  if (layout.kind === 'evaluated') {
    const code = sumsFunction(problem, product, options);
    return { product, problem, a, b, code };
  }
  const rowBytes = row * type.bytes;
  const tiles = tilesOf((rows, vectors) => {
    const shape = {
      type,
      relaxed: options.relaxedSimd,
      rows,
      vectors,
      aRow: a.strides.line,
      aStep: rows === tile.rows ? a.strides.step : a.strides.tailStep,
      cRow: rowBytes,
    };
    return layout.kind === 'image'
      ? windowTile(shape, layout)
      : microKernel({
          ...shape,
          bStep: vectors === tile.vectors ? b.strides.step : b.strides.tailStep,
        });
  });
  return { product, problem, a, b, code: { type, tile, ends, a, b, rowBytes, tiles } };
}

/** How tiles get at the blocks of a side. */
function accessOf(
  problem: MatmulProblem,
  product: BlockProduct,
  side: 'a' | 'b',
  options: KernelOptions,
): OperandAccess {
  const { type } = problem;
  const operand = problem[side];
  const { tile } = product;
  const { layout } = product[side];
  const tileLines = side === 'a' ? tile.rows : tile.vectors * type.lanes;
  switch (layout.kind) {
    case 'made':
      return madeAccess(layout.line * type.bytes, layout.step * type.bytes, tileLines);
    case 'evaluated':
      return madeAccess(0, 0, 0);
    case 'in place':
      return directAccess(problem, layout.from, tileLines);
    case 'image':
      return imageAccess(problem, layout, tileLines, options);
    case 'rows':
      return expressionAccess(problem, operand, layout, tileLines, options);
    case 'panels':
      return 'words' in layout.from
        ? operandForm!.access(problem, layout.from, layout, tileLines, options)
        : panelAccess(problem, operand, layout.from, layout, tileLines);
  }
}
