/**
 * @file Products of float16 matrices by subgroup matrices, with fused prologue and epilogue.
 *
 * As in `matmul.ts` a workgroup walks k in slabs that lie in workgroup memory, and the next slab's global loads are
 * issued before the arithmetic on this one. Here a subgroup owns a block of results, as matrices that its threads hold
 * together; what a thread holds of them is not told, so results pass through workgroup memory to `store_c`.
 */
import { isMultiple, stmtRoots, type MatmulKernel } from '@tessera/inductor-core';
import { type Size, sizeCeilDiv, sizeMul } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { linearGrid } from './dispatch.js';
import { LaneContext } from './lane-context.js';
import { extent } from './loop-vars.js';
import {
  addLoadFunction,
  lanesAlong,
  loadOrder,
  operandLanes,
  type Operand,
} from './matmul-operand.js';
import { MatrixSlab } from './matrix-slab.js';
import { matrixSubgroups, matrixThreads, type MatrixTile } from './matrix-tiles.js';
import { plus } from './offset-text.js';
import { addStoreFunction } from './product-store.js';
import { ProgramBuilder, type WgslProgram } from './program.js';
import { walkSlabs } from './slab-walk.js';
import type { MatrixShape, WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { chooseVectorBuffers } from './vector-buffers.js';

/** Generates a product of operands that `isHalf` accepts, for a target with subgroup matrices. */
export function generateMatrixMatmul(
  kernel: MatmulKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  tile: MatrixTile,
): WgslProgram {
  return new MatrixMatmul(kernel, target, variant, tile).generate();
}

class MatrixMatmul {
  private readonly body = new CodeBlock();
  private readonly builder: ProgramBuilder;
  private readonly slabs: readonly [MatrixSlab, MatrixSlab];
  private readonly extents: Readonly<Record<'batch' | 'm' | 'n' | 'k', Size>>;
  private readonly shape: MatrixShape;
  private readonly threads: number;
  private readonly lanes: number;
  /** Names of the results: rows of matrices. */
  private readonly results: readonly (readonly string[])[];

  constructor(
    kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: MatrixTile,
  ) {
    const { batch, m, n, k, epilogue } = kernel;
    this.extents = { batch: extent(batch), m: extent(m), n: extent(n), k: extent(k) };
    this.shape = target.matrices!;
    this.threads = matrixThreads(tile, target);
    this.lanes = target.subgroups!.max;
    const operands: Operand[] = [
      { name: 'a', expr: kernel.a, batch, x: m, k },
      { name: 'b', expr: kernel.b, batch, x: n, k },
    ];
    const loads = operands.map((operand) => {
      const order = loadOrder(operand);
      const context = new LaneContext(operandLanes(operand, order), [operand.expr]);
      return { operand, order, context };
    });
    const context = new LaneContext(
      { ...lanesAlong(n), vectorAccs: true },
      epilogue.flatMap(stmtRoots),
    );
    const vectors = chooseVectorBuffers([
      ...loads.map((load) => ({ context: load.context, exprs: [load.operand.expr], stores: [] })),
      { context, exprs: [], stores: epilogue },
    ]);
    const builder = new ProgramBuilder(
      kernel,
      target,
      variant,
      variant.offsets ? new Set() : vectors,
    );
    this.builder = builder;
    builder.requireMatrices();
    const { bm, bn, bk } = tile;
    const [a, b] = loads.map(({ operand, order }, i) => {
      const place = {
        extent: i === 0 ? bm : bn,
        bk,
        origin: i === 0 ? 'first_m' : 'first_n',
        threads: this.threads,
      };
      return new MatrixSlab(operand, order, place, builder);
    });
    this.slabs = [a, b];
    const checkK = !isMultiple(this.extents.k, bk);
    for (const load of loads)
      addLoadFunction(builder, load.operand, load.context, load.order, 'f16', checkK);
    addStoreFunction(builder, {
      epilogue,
      context,
      batch,
      m,
      n,
      bm,
      bn,
      type: 'f32',
      products: ['product'],
    });
    this.results = Array.from({ length: tile.sm / this.shape.m }, (_, i) =>
      Array.from({ length: tile.sn / this.shape.n }, (_, j) => `c${i}_${j}`),
    );
  }

  generate(): WgslProgram {
    const { body, tile, extents, builder, shape, lanes } = this;
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
    const columns = tile.bn / tile.sn;
    body.line(`let part = lane / ${lanes}u;`);
    body.line(`let part_m = (part / ${columns}u) * ${tile.sm}u;`);
    body.line(`let part_n = (part % ${columns}u) * ${tile.sn}u;`);
    const result = `subgroup_matrix_result<f32, ${shape.n}, ${shape.m}>`;
    for (const name of this.results.flat()) body.line(`var ${name} = ${result}();`);
    const steps = sizeCeilDiv(extents.k, tile.bk);
    walkSlabs(body, {
      slabs: this.slabs,
      steps: builder.size(steps),
      isOne: steps === 1,
      bk: tile.bk,
      multiply: (loop) => {
        for (let k = 0; k < tile.bk; k += shape.k) loop.nest('', this.multiply(`${k}u`));
      },
    });
    this.storeResults();
    return builder.finish(this.threads, body, grid.workgroups);
  }

  /** The products of one matrix along k. */
  private multiply(k: string): CodeBlock {
    const { shape, results } = this;
    const [a, b] = this.slabs;
    const block = new CodeBlock();
    const left = `subgroup_matrix_left<f16, ${shape.k}, ${shape.m}>`;
    const right = `subgroup_matrix_right<f16, ${shape.n}, ${shape.k}>`;
    for (const i of results.keys())
      block.line(`let a${i} = ${a.matrixAt(left, `part_m${plus(i * shape.m)}`, k)};`);
    for (const j of results[0].keys()) {
      block.line(`let b${j} = ${b.matrixAt(right, `part_n${plus(j * shape.n)}`, k)};`);
      for (const [i, names] of results.entries())
        block.line(`${names[j]} = subgroupMatrixMultiplyAccumulate(a${i}, b${j}, ${names[j]});`);
    }
    return block;
  }

  /** Writes a matrix at a time, each subgroup through memory of its own: more of it would leave room for fewer workgroups. */
  private storeResults(): void {
    const { body, tile, lanes, builder } = this;
    const { m, n } = this.shape;
    const size = m * n;
    const array = builder.workgroupArray('result', 'f32', matrixSubgroups(tile) * size);
    body.line(`let first = part * ${size}u;`);
    for (const [i, names] of this.results.entries()) {
      for (const [j, name] of names.entries()) {
        if (i + j > 0) body.line('workgroupBarrier();');
        body.line(`subgroupMatrixStore<row_major>(&${array}, first, ${name}, ${n}u);`);
        body.line('workgroupBarrier();');
        const store = new CodeBlock();
        const values = [0, 1, 2, 3].map((q) => `${array}[at${plus(q)}]`).join(', ');
        const row = `first_m + part_m${plus(i * m)} + unit / ${n / 4}u`;
        const column = `first_n + part_n${plus(j * n)} + (unit % ${n / 4}u) * 4u`;
        store.line('let at = first + unit * 4u;');
        store.line(`store_c(batch, ${row}, ${column}, vec4f(${values}));`);
        body.nest(
          `for (var unit = lane % ${lanes}u; unit < ${size / 4}u; unit += ${lanes}u)`,
          store,
        );
      }
    }
  }
}
