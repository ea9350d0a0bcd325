/**
 * @file Products of float16 matrices by subgroup matrices, with fused prologue and epilogue.
 *
 * As in `matmul.ts` a workgroup walks k in slabs that lie in workgroup memory, and the next slab's global loads are
 * issued before the arithmetic on this one. Here a subgroup owns a block of results, as matrices that its threads hold
 * together; what a thread holds of them is not told, so results pass through workgroup memory to `store_c`.
 */
import type { MatmulKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from '../code-block.js';
import { MatrixSlab, slabType, slabValues } from './matrix-slab.js';
import { type Grid, grid, multiplied, resultType, storedMatrix } from './matrix-text.js';
import { matrixSubgroups, matrixThreads, type MatrixTile } from './matrix-tiles.js';
import { plus } from '../values/offset-text.js';
import { ProductFrame } from './product-frame.js';
import type { WgslProgram } from '../wgsl-program.js';
import { walkSlabs } from './slab-walk.js';
import type { MatrixShape, WgslTarget } from '../target.js';
import { tileFacts } from '../scheduled/tile-facts.js';
import type { KernelVariant } from '../variant.js';

/** Generates a product of operands that `isHalf` accepts, for a target with subgroup matrices. */
export function generateMatrixMatmul(
  kernel: MatmulKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  tile: MatrixTile,
): WgslProgram {
  const part = [tile.sm, tile.sn] as const;
  const threads = matrixThreads(tile, target);
  return {
    ...new MatrixMatmul(kernel, target, variant, tile).generate(),
    schedule: () => tileFacts(kernel.name, { ...tile, each: 'subgroup', part, threads }),
  };
}

class MatrixMatmul {
  private readonly frame: ProductFrame;
  private readonly slabs: readonly [MatrixSlab, MatrixSlab];
  private readonly shape: MatrixShape;
  private readonly threads: number;
  private readonly lanes: number;
  /** Names of the results: rows of matrices. */
  private readonly results: Grid;

  constructor(
    kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: MatrixTile,
  ) {
    this.shape = target.matrices!;
    const threads = matrixThreads(tile, target);
    this.threads = threads;
    this.lanes = target.subgroups!.max;
    this.frame = new ProductFrame(kernel, target, variant, { ...tile, threads });
    const { builder, operands } = this.frame;
    builder.requireMatrices();
    const [a, b] = operands.map(({ operand, order, extent, origin, wide }, i) => {
      const { bk } = tile;
      const isWide = wide !== null;
      const { type, values } = slabType(isWide);
      const count = slabValues(order, extent, bk) / values;
      const array = builder.workgroupArray(`slab_${operand.name}`, type, count);
      const place = { extent, bk, batch: 'batch', origin, threads, isWide, array };
      return new MatrixSlab(operand, order, i === 0 ? 'left' : 'right', place);
    });
    this.slabs = [a, b];
    this.results = grid('c', tile.sm / this.shape.m, tile.sn / this.shape.n);
  }

  generate(): WgslProgram {
    const { frame, tile, shape, lanes } = this;
    const { body, builder, steps, workgroups } = frame;
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    frame.begin();
    const columns = tile.bn / tile.sn;
    body.line(`let part = lane / ${lanes}u;`);
    body.line(`let part_m = (part / ${columns}u) * ${tile.sm}u;`);
    body.line(`let part_n = (part % ${columns}u) * ${tile.sn}u;`);
    for (const name of this.results.flat()) body.line(`var ${name} = ${resultType(shape)}();`);
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
    return builder.finish(this.threads, body, workgroups);
  }

  /** The products of one matrix along k. */
  private multiply(k: string): CodeBlock {
    const { shape, results } = this;
    const [a, b] = this.slabs;
    const block = new CodeBlock();
    for (const i of results.keys())
      block.line(`let a${i} = ${a.matrixAt(shape, `part_m${plus(i * shape.m)}`, k)};`);
    for (const j of results[0].keys()) {
      block.line(`let b${j} = ${b.matrixAt(shape, `part_n${plus(j * shape.n)}`, k)};`);
      for (const [i, names] of results.entries())
        block.line(multiplied(names[j], `a${i}`, `b${j}`));
    }
    return block;
  }

  /** Writes a matrix at a time, each subgroup through memory of its own: more of it would leave room for fewer workgroups. */
  private storeResults(): void {
    const { tile, lanes } = this;
    const { body, builder } = this.frame;
    const { m, n } = this.shape;
    const size = m * n;
    const array = builder.workgroupArray('result', 'vec4f', (matrixSubgroups(tile) * size) / 4);
    body.line(`let first = part * ${size / 4}u;`);
    for (const [i, names] of this.results.entries()) {
      for (const [j, name] of names.entries()) {
        if (i + j > 0) body.line('workgroupBarrier();');
        body.line(storedMatrix(name, array, 'first', n / 4));
        body.line('workgroupBarrier();');
        const store = new CodeBlock();
        const row = `first_m + part_m${plus(i * m)} + unit / ${n / 4}u`;
        const column = `first_n + part_n${plus(j * n)} + (unit % ${n / 4}u) * 4u`;
        store.line(`store_c(batch, ${row}, ${column}, ${array}[first + unit]);`);
        body.nest(
          `for (var unit = lane % ${lanes}u; unit < ${size / 4}u; unit += ${lanes}u)`,
          store,
        );
      }
    }
  }
}
