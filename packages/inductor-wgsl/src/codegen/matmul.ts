/**
 * @file Tiled matrix products with fused prologue and epilogue.
 *
 * Each workgroup walks k in slabs: the slab of A (transposed) and of B lie in workgroup memory, every
 * thread keeps its block of results in named vec4 variables, and the next slab's global loads are issued
 * before the arithmetic on this one. Operands are arbitrary expressions, so implicit-GEMM convolutions,
 * casts and masks all pass through `load_a` and `load_b`; `store_c` runs the epilogue on four results.
 */
import { isMultiple, stmtRoots, type MatmulKernel } from '@tessera/inductor-core';
import { type Size, sizeCeilDiv, sizeMul } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { linearGrid } from './dispatch.js';
import { LaneContext } from './lane-context.js';
import { extent } from './loop-vars.js';
import {
  isLarge,
  isMatrixVector,
  matmulAsReduction,
  matmulClass,
  matmulShape,
} from './matmul-shape.js';
import {
  addLoadFunction,
  lanesAlong,
  loadOrder,
  operandLanes,
  type Operand,
} from './matmul-operand.js';
import { MatmulSlab, type SlabWorkgroup } from './matmul-slab.js';
import { placeThread } from './matmul-threads.js';
import {
  chooseMatmulTile,
  tilePadding,
  tileThreads,
  type MatmulTile,
  type TileMemory,
} from './matmul-tiles.js';
import { generateMatrixMatmul } from './matrix-matmul.js';
import { matrixTile } from './matrix-tiles.js';
import { plus } from './offset-text.js';
import { addStoreFunction } from './product-store.js';
import { ProgramBuilder, type WgslProgram } from './program.js';
import { generateReduction } from './reduction.js';
import { RegisterBlock } from './register-block.js';
import { eachRow, walkSlabs } from './slab-walk.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { chooseVectorBuffers } from './vector-buffers.js';
import { computeType, typeName } from './wgsl-types.js';

/** Decisions that are otherwise made by the shape. */
export interface MatmulChoices {
  readonly tile?: MatmulTile;
  /** Measured winners. */
  readonly memory?: TileMemory;
  /** Whether the steps of a slab are written out. */
  readonly unrolled?: boolean;
}

/** Generates a matmul kernel. */
export function generateMatmul(
  kernel: MatmulKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  { tile, memory, unrolled }: MatmulChoices = {},
): WgslProgram {
  const shape = matmulShape(kernel);
  if (tile === undefined && (isMatrixVector(kernel) || extent(kernel.k) === 0)) {
    return generateReduction(matmulAsReduction(kernel), target, variant);
  }
  const matrices = tile === undefined ? matrixTile(kernel, target) : null;
  if (matrices !== null) return generateMatrixMatmul(kernel, target, variant, matrices);
  return new MatmulGenerator(
    kernel,
    target,
    variant,
    tile ?? chooseMatmulTile(shape, target, memory?.get(matmulClass(kernel))),
    unrolled ?? (!target.software && isLarge(shape)),
  ).generate();
}

class MatmulGenerator {
  private readonly body = new CodeBlock();
  private readonly builder: ProgramBuilder;
  private readonly vector: string;
  private readonly threads: number;
  private readonly columns: number;
  private readonly slabs: readonly MatmulSlab[];
  private readonly results: RegisterBlock;
  private readonly epilogueContext: LaneContext;
  private readonly extents: Readonly<Record<'batch' | 'm' | 'n' | 'k', Size>>;

  constructor(
    kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: MatmulTile,
    private readonly unrolled: boolean,
  ) {
    const { batch, m, n, k } = kernel;
    this.extents = { batch: extent(batch), m: extent(m), n: extent(n), k: extent(k) };
    const a: Operand = { name: 'a', expr: kernel.a, batch, x: m, k };
    const b: Operand = { name: 'b', expr: kernel.b, batch, x: n, k };
    const orders = [a, b].map((operand) => loadOrder(operand));
    const contexts = [a, b].map(
      (operand, i) => new LaneContext(operandLanes(operand, orders[i]), [operand.expr]),
    );
    this.epilogueContext = new LaneContext(
      { ...lanesAlong(n), vectorAccs: true },
      kernel.epilogue.flatMap(stmtRoots),
    );
    const vectors = chooseVectorBuffers([
      { context: contexts[0], exprs: [a.expr], stores: [] },
      { context: contexts[1], exprs: [b.expr], stores: [] },
      { context: this.epilogueContext, exprs: [], stores: kernel.epilogue },
    ]);
    this.builder = new ProgramBuilder(
      kernel,
      target,
      variant,
      variant.offsets ? new Set() : vectors,
    );
    const type = computeType(kernel.accDtype);
    this.vector = typeName(type, 4);
    this.threads = tileThreads(tile);
    this.columns = tile.bn / tile.tn;
    const { builder, threads } = this;
    this.results = new RegisterBlock('c', tile.tm, tile.tn / 4);
    const workgroup: SlabWorkgroup = {
      builder,
      threads,
      type,
      padding: tilePadding(tile, target),
      array: ({ name }, row, rows) => builder.workgroupArray(`slab_${name}`, row, rows),
    };
    const places = [
      { extent: tile.bm, bk: tile.bk, batch: 'batch', origin: 'first_m' },
      { extent: tile.bn, bk: tile.bk, batch: 'batch', origin: 'first_n' },
    ];
    this.slabs = [a, b].map(
      (operand, i) => new MatmulSlab(operand, orders[i], places[i], workgroup),
    );
    const checkK = !isMultiple(this.extents.k, tile.bk);
    for (const [i, operand] of [a, b].entries()) {
      addLoadFunction(this.builder, operand, contexts[i], orders[i], type, checkK);
    }
    addStoreFunction(builder, {
      epilogue: kernel.epilogue,
      context: this.epilogueContext,
      batch,
      m,
      n,
      bm: tile.bm,
      bn: tile.bn,
      type,
      products: ['product'],
    });
  }

  generate(): WgslProgram {
    const { body, tile, extents, builder } = this;
    const tilesM = sizeCeilDiv(extents.m, tile.bm);
    const tilesN = sizeCeilDiv(extents.n, tile.bn);
    const tiles = sizeMul(tilesM, tilesN);
    const count = sizeMul(tiles, extents.batch);
    if (count === 0) return builder.finish(1, body, [0, 1]);
    const grid = linearGrid(count, builder.target);
    if (grid.hasSurplus) body.line(`if (${grid.id} >= ${builder.size(count)}) { return; }`);
    const across = builder.size(tilesN);
    body.line(`let tile = ${grid.id};`);
    body.line(`let batch = tile / ${builder.size(tiles)};`);
    body.line(`let first_m = ((tile / ${across}) % ${builder.size(tilesM)}) * ${tile.bm}u;`);
    body.line(`let first_n = (tile % ${across}) * ${tile.bn}u;`);
    placeThread(body, tile, builder.target);
    this.results.declare(body, this.vector);
    this.walkSlabs();
    if (tile.slices > 1) this.addSlices();
    this.storeResults();
    return builder.finish(this.threads, body, grid.workgroups);
  }

  private walkSlabs(): void {
    const { tile, builder, slabs, columns, results, unrolled } = this;
    const steps = sizeCeilDiv(this.extents.k, tile.bk);
    const [a, b] = slabs;
    const rows = tile.bm / tile.tm;
    walkSlabs(this.body, {
      slabs,
      steps: builder.size(steps),
      isOne: steps === 1,
      bk: tile.bk,
      multiply: (loop) =>
        eachRow(loop, { bk: tile.bk, unrolled, slices: tile.slices }, (k) =>
          results.addStep(
            (g) => a.vectorAt(k, `row${plus(g * rows)}`),
            (g) => b.vectorAt(k, `column${plus(g * columns)}`),
          ),
        ),
    });
  }

  /** Adds the results of all slices into slice 0, halving their number each round. */
  private addSlices(): void {
    const { body, tile, builder } = this;
    const perSlice = this.threads / tile.slices;
    const names = this.results.names.flat();
    const array = builder.workgroupArray(
      'sums',
      this.vector,
      (tile.slices / 2) * perSlice * names.length,
    );
    const write = new CodeBlock();
    const read = new CodeBlock();
    for (const [i, name] of names.entries()) {
      write.line(`${array}[(lane - half * ${perSlice}u) * ${names.length}u + ${i}u] = ${name};`);
      read.line(`${name} += ${array}[lane * ${names.length}u + ${i}u];`);
    }
    const round = new CodeBlock();
    round.nest('if (slice >= half && slice < half * 2u)', write);
    round.line('workgroupBarrier();');
    round.nest('if (slice < half)', read);
    round.line('workgroupBarrier();');
    body.nest(`for (var half = ${tile.slices / 2}u; half > 0u; half = half >> 1u)`, round);
  }

  private storeResults(): void {
    const { body, tile, columns } = this;
    const block = new CodeBlock();
    const rows = tile.bm / tile.tm;
    for (const [i, names] of this.results.names.entries()) {
      const m = `first_m + row * 4u${plus((i >> 2) * rows * 4 + (i & 3))}`;
      for (const [g, name] of names.entries()) {
        block.line(`store_c(batch, ${m}, first_n + column * 4u${plus(g * columns * 4)}, ${name});`);
      }
    }
    if (tile.slices > 1) body.nest('if (slice == 0u)', block);
    else body.append(block);
  }
}
