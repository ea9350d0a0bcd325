/**
 * @file Tiled matrix products with fused prologue and epilogue.
 *
 * Each workgroup walks k in slabs: the slab of A (transposed) and of B lie in workgroup memory, every
 * thread keeps its block of results in named vec4 variables, and the next slab's global loads are issued
 * before the arithmetic on this one. Operands are arbitrary expressions, so implicit-GEMM convolutions,
 * casts and masks all pass through `load_a` and `load_b`; `store_c` runs the epilogue on four results.
 */
import { extent, type MatmulKernel, type ScheduleFacts } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { generateLoop } from './loop.js';
import { isReduction, matmulAsReduction, matmulClass, matmulShape } from './matmul-shape.js';
import { shareOf } from './matmul-part.js';
import { MatmulSlab, type SlabWorkgroup } from './matmul-slab.js';
import { placeThread } from './matmul-threads.js';
import {
  chooseMatmulTile,
  isWrittenOut,
  tilePadding,
  tileThreads,
  type MatmulTile,
  type TileMemory,
} from './matmul-tiles.js';
import { generateMatrixMatmul } from './matrix-matmul.js';
import { matrixTile } from './matrix-tiles.js';
import { plus } from './offset-text.js';
import { ProductFrame } from './product-frame.js';
import type { ProgramBuilder } from './program.js';
import type { WgslProgram } from './wgsl-program.js';
import { RegisterBlock } from './register-block.js';
import { blockLoaders } from './slab-units.js';
import { eachRow, walkSlabs } from './slab-walk.js';
import type { WgslTarget } from './target.js';
import { tileFacts } from './tile-facts.js';
import type { KernelVariant } from './variant.js';
import { typeName } from './wgsl-types.js';

/** A rest of results mostly has few rows: its tiles are those of a product of so many, small, so that most end at once. */
const FEW_ROWS = 64;

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
  if (tile === undefined && (isReduction(kernel) || extent(kernel.k) === 0))
    return generateLoop(matmulAsReduction(kernel), target, variant);
  const matrices = tile === undefined ? matrixTile(kernel, target) : null;
  if (matrices !== null) return generateMatrixMatmul(kernel, target, variant, matrices);
  const usual = (): MatmulTile =>
    shareOf(kernel)?.of === 'rest'
      ? chooseMatmulTile({ ...shape, m: Math.min(shape.m, FEW_ROWS) }, target)
      : chooseMatmulTile(shape, target, memory?.get(matmulClass(kernel)));
  const chosen = tile ?? usual();
  const isUnrolled = unrolled ?? (!target.software && isWrittenOut(chosen, shape));
  return {
    ...new MatmulGenerator(kernel, target, variant, chosen, isUnrolled).generate(),
    schedule: () => matmulFacts(kernel.name, chosen, isUnrolled),
  };
}

function matmulFacts(kernel: string, tile: MatmulTile, isUnrolled: boolean): ScheduleFacts {
  return tileFacts(
    kernel,
    { ...tile, each: 'thread', part: [tile.tm, tile.tn], threads: tileThreads(tile) },
    {
      'threads that share a sum': tile.slices,
      'steps of k': isUnrolled ? 'written out' : 'in a loop',
    },
  );
}

class MatmulGenerator {
  private readonly body: CodeBlock;
  private readonly builder: ProgramBuilder;
  private readonly frame: ProductFrame;
  private readonly vector: string;
  private readonly threads: number;
  private readonly columns: number;
  private readonly slabs: readonly MatmulSlab[];
  private readonly results: RegisterBlock;

  constructor(
    kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: MatmulTile,
    private readonly unrolled: boolean,
  ) {
    this.frame = new ProductFrame(kernel, target, variant, tile);
    const { body, builder, type, operands } = this.frame;
    this.body = body;
    this.builder = builder;
    this.vector = typeName(type, 4);
    const threads = tileThreads(tile);
    this.threads = threads;
    this.columns = tile.bn / tile.tn;
    this.results = new RegisterBlock('c', tile.tm, tile.tn / 4);
    const workgroup: SlabWorkgroup = {
      builder,
      threads,
      type,
      padding: tilePadding(tile, target),
      numbered: unrolled,
      array: ({ name }, row, rows) => builder.workgroupArray(`slab_${name}`, row, rows),
    };
    const { bk } = tile;
    // Threads with fewer results have no registers to spare, or wait longer than they save.
    const inBlocks = unrolled && tile.tm * tile.tn === 64;
    const loaders = inBlocks ? blockLoaders(operands, bk, threads) : [];
    this.slabs = operands.map(({ operand, order, extent, origin }, i) => {
      const place = { extent, bk, batch: 'batch', origin, loaders: loaders[i] };
      return new MatmulSlab(operand, order, place, workgroup);
    });
  }

  generate(): WgslProgram {
    const { body, tile, builder, frame } = this;
    const workgroups = frame.placeTile(this.threads);
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    placeThread(body, tile, builder.target);
    this.results.declare(body, this.vector);
    this.walkSlabs();
    if (tile.slices > 1) this.addSlices();
    this.storeResults();
    return builder.finish(this.threads, body, workgroups);
  }

  private walkSlabs(): void {
    const { tile, builder, slabs, columns, results, unrolled } = this;
    const { steps } = this.frame;
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
