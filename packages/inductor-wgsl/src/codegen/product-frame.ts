/**
 * @file What products made tile by tile have in common, whoever multiplies: the operands and how they are loaded, the
 * epilogue, and which tile a workgroup makes.
 */
import {
  stmtRoots,
  type MatmulKernel,
  extent,
  LaneContext,
  chooseVectorBuffers,
} from '@tessera/inductor-core';
import { type Size, isMultiple, sizeCeilDiv, sizeMul } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { linearGrid, type Workgroups } from './dispatch.js';
import {
  addLoadFunction,
  lanesAlong,
  loadOrder,
  loadedOperand,
  type Operand,
} from './matmul-operand.js';
import { addShareFunctions, endWithoutShare, shareOf } from './matmul-part.js';
import { addStoreFunction } from './product-store.js';
import { ProgramBuilder } from './program.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { type LoadedOperand, type LoadExpr, wideBuffers, wideLoads } from './wide-halves.js';
import { computeType, type ScalarType } from './wgsl-types.js';

/** A tile of results, and the steps of k that are loaded at a time. */
export interface FrameTile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
}

/** An operand's slab: how it is loaded, values along x, and text of the first x. */
export interface FrameOperand extends LoadedOperand {
  readonly extent: number;
  readonly origin: string;
  /** What is read eight halves at a time, if it is. */
  readonly wide: LoadExpr | null;
}

/** See the file header. */
export class ProductFrame {
  readonly body: CodeBlock = new CodeBlock();
  readonly builder: ProgramBuilder;
  /** Type of the sums. */
  readonly type: ScalarType;
  /** Of `a` and `b`. */
  readonly operands: readonly [FrameOperand, FrameOperand];
  /** Slabs along k. */
  readonly steps: Size;

  /** @param loaded type of the values that `load_a` and `load_b` give; that of the sums if absent */
  constructor(
    private readonly kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: FrameTile,
    loaded?: 'f16',
  ) {
    const { batch, m, n, k, epilogue } = kernel;
    const { bm, bn, bk } = tile;
    const [a, b] = (['a', 'b'] as const).map((name) => {
      const operand: Operand = { name, expr: kernel[name], batch, x: name === 'a' ? m : n, k };
      return loadedOperand(operand, loadOrder(operand));
    });
    const context = new LaneContext(
      { ...lanesAlong(n), vectorAccs: true },
      epilogue.flatMap(stmtRoots),
    );
    const vectors = chooseVectorBuffers([
      ...[a, b].map(({ operand, context }) => ({
        context,
        exprs: [operand.expr],
        stores: [],
      })),
      { context, exprs: [], stores: epilogue },
    ]);
    const wide =
      loaded === undefined
        ? [null, null]
        : wideLoads([a, b], epilogue.flatMap(stmtRoots), variant, target);
    const builder = new ProgramBuilder(
      kernel,
      target,
      variant,
      variant.offsets ? new Set() : vectors,
      wideBuffers(wide),
    );
    this.builder = builder;
    this.operands = [
      { ...a, extent: bm, origin: 'first_m', wide: wide[0] },
      { ...b, extent: bn, origin: 'first_n', wide: wide[1] },
    ];
    const type = computeType(kernel.accDtype);
    this.type = type;
    this.steps = sizeCeilDiv(extent(k), bk);
    const checkK = !isMultiple(extent(k), bk);
    for (const loading of this.operands) addLoadFunction(builder, loading, loaded ?? type, checkK);
    const share = shareOf(kernel);
    addStoreFunction(builder, {
      epilogue,
      context,
      batch,
      m,
      n,
      bm,
      bn,
      type,
      products: ['product'],
      ...(share !== null && { isLeft: addShareFunctions(builder, kernel, share) }),
    });
  }

  /**
   * Finds the workgroup's tile: `batch`, `first_m`, `first_n`; ends a workgroup without results to make. Gives the
   * grid; null where there are no results.
   */
  placeTile(threads: number): Workgroups | null {
    const { body, builder, tile, kernel } = this;
    const tilesM = sizeCeilDiv(extent(kernel.m), tile.bm);
    const tilesN = sizeCeilDiv(extent(kernel.n), tile.bn);
    const tiles = sizeMul(tilesM, tilesN);
    const count = sizeMul(tiles, extent(kernel.batch));
    if (count === 0) return null;
    const grid = linearGrid(count, builder.target);
    if (grid.hasSurplus) body.line(`if (${grid.id} >= ${builder.size(count)}) { return; }`);
    const across = builder.size(tilesN);
    body.line(`let tile = ${grid.id};`);
    body.line(`let batch = tile / ${builder.size(tiles)};`);
    body.line(`let first_m = ((tile / ${across}) % ${builder.size(tilesM)}) * ${tile.bm}u;`);
    body.line(`let first_n = (tile % ${across}) * ${tile.bn}u;`);
    const share = shareOf(kernel);
    if (share !== null) endWithoutShare(body, builder, kernel, share, { ...tile, threads });
    return grid.workgroups;
  }
}
