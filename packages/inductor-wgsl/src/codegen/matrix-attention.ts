/**
 * @file Attention of float16 operands by subgroup matrices.
 *
 * As in `attention.ts` a workgroup goes through the columns tile by tile. Here a subgroup owns whole rows of results
 * and holds them, and the first factors, as matrices. What a thread holds of a matrix is not told, so scores pass
 * through workgroup memory to become weights, and so do results where they are scaled: that is put off while weights
 * stay small, and seldom happens after the first tiles.
 */
import { type AttentionKernel, placeThread } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { AttentionFrame, type AttentionOperand } from './attention-frame.js';
import { AttentionWeights } from './attention-weights.js';
import { CodeBlock } from './code-block.js';
import {
  FACTOR_CHUNK,
  matrixAttentionThreads,
  matrixWidths,
  sharedSlabValues,
  weightStride,
  type MatrixAttentionTile,
} from './matrix-attention-tiles.js';
import { MatrixPassage } from './matrix-passage.js';
import { MatrixSlab, slabType } from './matrix-slab.js';
import { type Grid, grid, loadedMatrix, multiplied, resultType } from './matrix-text.js';
import { plus } from './offset-text.js';
import { spellLets } from './place-text.js';
import type { ProgramBuilder } from './program.js';
import type { WgslProgram } from './wgsl-program.js';
import { RegisterBlock } from './register-block.js';
import { RunningSoftmax } from './running-softmax.js';
import type { MatrixShape, WgslTarget } from './target.js';
import { tileFacts } from './tile-facts.js';
import type { KernelVariant } from './variant.js';

/** Weights are at most e to the power of this: far from the end of float16, and exact in its sums. */
const SLACK = 6;

/** Generates an attention kernel for a tile that `matrixAttentionTile` gives. */
export function generateMatrixAttention(
  kernel: AttentionKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  tile: MatrixAttentionTile,
): WgslProgram {
  const { bm, tm, tn } = tile;
  const threads = matrixAttentionThreads(tile);
  return {
    ...new MatrixAttention(kernel, target, variant, tile).generate(),
    schedule: () =>
      tileFacts(
        kernel.name,
        { ...tile, each: 'thread', part: [tm, tn], threads },
        { 'rows of a subgroup': (bm * target.subgroups!.max) / threads },
      ),
  };
}

class MatrixAttention {
  private readonly frame: AttentionFrame;
  private readonly builder: ProgramBuilder;
  private readonly shape: MatrixShape;
  private readonly threads: number;
  private readonly lanes: number;
  /** Rows of a subgroup. */
  private readonly perSubgroup: number;
  private readonly slab: string;
  private readonly passage: MatrixPassage;
  private readonly columns: readonly MatrixSlab[];
  private readonly values: readonly MatrixSlab[];
  private readonly depth: number;
  private readonly products: Grid;
  private readonly factors: readonly Grid[];
  private readonly results: readonly Grid[];
  private readonly scores: readonly RegisterBlock[];
  private readonly weights: AttentionWeights;
  private readonly softmax: RunningSoftmax | null;
  /** The last visit in which what results are scaled by was not 1 in some row. */
  private readonly grown: string;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: MatrixAttentionTile,
  ) {
    const { bm, bn, tm, tn } = tile;
    const widths = matrixWidths(kernel, target)!;
    this.depth = widths.k;
    this.shape = target.matrices!;
    this.lanes = target.subgroups!.max;
    this.threads = matrixAttentionThreads(tile);
    this.perSubgroup = (bm * this.lanes) / this.threads;
    const extents = { bm, bn, covered: widths.n, bk: widths.k, bj: bn };
    this.frame = new AttentionFrame(kernel, target, variant, extents, { loaded: 'f16' });
    const { builder } = this.frame;
    this.builder = builder;
    builder.requireMatrices();
    const { type, values } = slabType(this.frame.isWide);
    this.slab = builder.workgroupArray('slab', type, sharedSlabValues(tile, widths) / values);
    this.passage = new MatrixPassage(builder, tile, this.shape, this.lanes);
    this.columns = this.frame.factors.map(([, b]) => this.makeSlab(b, 'right', widths.k));
    this.values = this.frame.values.map((value) => this.makeSlab(value, 'right', bn));
    const { m, n, k } = this.shape;
    const down = this.perSubgroup / m;
    this.products = grid('c', down, bn / n);
    this.factors = kernel.scores.map((_, p) => grid(`a${p}_`, down, widths.k / k));
    this.results = kernel.values.map((_, q) => grid(`r${q}_`, down, widths.n / n));
    this.scores = kernel.scores.map((_, p) => new RegisterBlock(`s${p}_`, tm, tn / 4));
    this.weights = new AttentionWeights(kernel, this.frame, tile, this.scores, {
      kind: 'by row',
      stride: weightStride(tile),
    });
    this.softmax = kernel.softmax
      ? new RunningSoftmax(builder, tile, this.scores[0], SLACK, true)
      : null;
    // The last: what matrices are loaded from must begin at a multiple of 16 bytes.
    // Of 16 bytes.
    this.grown = kernel.softmax ? `${builder.workgroupArray('grown', 'atomic<u32>', 4)}[0]` : '';
  }

  generate(): WgslProgram {
    const { frame, builder, tile, softmax } = this;
    const { body } = frame;
    const workgroups = frame.placeTile();
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    spellLets(body, builder, placeThread(tile, builder.target));
    body.line(`let part_m = (lane / ${this.lanes}u) * ${this.perSubgroup}u;`);
    this.loadFactors();
    for (const name of this.results.flat(2))
      body.line(`var ${name} = ${resultType(this.shape)}();`);
    if (softmax !== null) {
      softmax.declare(body);
      body.line('var visit = 0u;');
    }
    for (const slab of this.columns) slab.declare(body);
    for (const slab of this.values) slab.declare(body);
    frame.visitColumns(
      (loop) => this.visitTile(loop),
      (walk, first) => this.columns[0].fetch(walk, '0u', first),
    );
    if (softmax !== null) {
      softmax.finish(body);
      this.passage.publishScales((i) => softmax.divisor(i), body);
    }
    if (this.kernel.epilogue.length > 0) this.storeResults();
    if (this.kernel.rowStores.length > 0) softmax?.storeRows(body);
    return builder.finish(this.threads, body, workgroups);
  }

  private makeSlab(
    { operand, order, batch, origin, extent }: AttentionOperand,
    side: 'left' | 'right',
    bk: number,
  ): MatrixSlab {
    const { threads, slab, frame } = this;
    return new MatrixSlab(operand, order, side, {
      extent,
      bk,
      batch,
      origin,
      threads,
      isWide: frame.isWide,
      array: slab,
    });
  }

  /** Loads the first factors, which stay: a piece of k at a time. */
  private loadFactors(): void {
    const { frame, depth, shape } = this;
    const { body } = frame;
    for (const [p, [a]] of frame.factors.entries()) {
      for (let from = 0; from < depth; from += FACTOR_CHUNK) {
        const length = Math.min(FACTOR_CHUNK, depth - from);
        const slab = this.makeSlab(a, 'left', length);
        const load = new CodeBlock();
        slab.declare(load);
        slab.fetch(load, `${from}u`);
        slab.publish(load);
        body.nest('', load);
        body.line('workgroupBarrier();');
        for (const [i, names] of this.factors[p].entries())
          for (let k = from; k < from + length; k += shape.k) {
            const at = slab.matrixAt(shape, `part_m${plus(i * shape.m)}`, `${k - from}u`);
            body.line(`let ${names[k / shape.k]} = ${at};`);
          }
        body.line('workgroupBarrier();');
      }
    }
  }

  /** The weights of a tile, and what they give. */
  private visitTile(loop: CodeBlock): void {
    const { tile, softmax, weights, columns, values } = this;
    for (const [p, slab] of columns.entries()) {
      loop.scope((inner) => slab.publish(inner));
      loop.line('workgroupBarrier();');
      const next = columns[p + 1] ?? values[0];
      next.fetch(loop, p + 1 < columns.length ? '0u' : 'first_j');
      loop.scope((inner) => this.multiplyFactors(inner, p));
      loop.line('workgroupBarrier();');
      this.passage.readScores(loop, this.scores[p]);
    }
    weights.compute(loop);
    softmax?.advance(loop);
    for (const [q, slab] of values.entries()) {
      if (q > 0) loop.line('workgroupBarrier();');
      weights.publish(loop, q);
      loop.scope((inner) => slab.publish(inner));
      if (softmax !== null) {
        loop.line('visit++;');
        loop.line(`if (${softmax.grows()}) { atomicStore(&${this.grown}, visit); }`);
        this.passage.publishScales((i) => softmax.shrink(i), loop);
        loop.line(`let last_grown = workgroupUniformLoad(&${this.grown});`);
      } else loop.line('workgroupBarrier();');
      if (q + 1 < values.length) values[q + 1].fetch(loop, 'first_j');
      else
        loop.scope(
          (inner) => columns[0].fetch(inner, '0u', `(first_j + ${tile.bn}u)`),
          'if (block + 1u < end_block)',
        );
      if (softmax !== null)
        loop.scope(
          (inner) => this.passage.scaleRows(inner, this.results[0]),
          'if (visit > 1u && last_grown == visit)',
        );
      loop.scope((inner) => this.multiplyValues(inner, q));
    }
    loop.line('workgroupBarrier();');
  }

  /** Products of factors, into memory. */
  private multiplyFactors(loop: CodeBlock, p: number): void {
    const { shape, products, factors, columns, depth } = this;
    for (const name of products.flat()) loop.line(`var ${name} = ${resultType(this.shape)}();`);
    for (let k = 0; k < depth; k += shape.k) {
      for (const j of products[0].keys()) {
        const step = new CodeBlock();
        step.line(`let b = ${columns[p].matrixAt(shape, `${j * shape.n}u`, `${k}u`)};`);
        for (const [i, names] of products.entries())
          step.line(multiplied(names[j], factors[p][i][k / shape.k], 'b'));
        loop.nest('', step);
      }
    }
    for (const [i, names] of products.entries())
      for (const [j, name] of names.entries()) loop.line(this.passage.store(name, i, j));
  }

  /** Adds the products of weights and values. */
  private multiplyValues(loop: CodeBlock, q: number): void {
    const { shape, tile, results, values, weights } = this;
    const stride = weightStride(tile) / 4;
    const left = `subgroup_matrix_left<f16, ${shape.k}, ${shape.m}>`;
    for (let k = 0; k < tile.bn; k += shape.k) {
      const step = new CodeBlock();
      for (const i of results[q].keys()) {
        const at = `(part_m${plus(i * shape.m)}) * ${stride}u${plus(k / 4)}`;
        step.line(`let w${i} = ${loadedMatrix(left, 'row_major', weights.array, at, stride)};`);
      }
      for (const j of results[q][0].keys()) {
        const at = values[q].matrixAt(shape, `${j * shape.n}u`, `${k}u`);
        const product = new CodeBlock();
        product.line(`let b = ${at};`);
        for (const [i, names] of results[q].entries())
          product.line(multiplied(names[j], `w${i}`, 'b'));
        step.nest('', product);
      }
      loop.nest('', step);
    }
  }

  /** Passes results to `store_c`, a matrix of each at a time. */
  private storeResults(): void {
    const { shape, results, lanes, passage, frame, softmax } = this;
    const { body } = frame;
    const { m, n } = shape;
    for (const [i, names] of results[0].entries()) {
      for (const j of names.keys()) {
        for (const [q, grid] of results.entries()) body.line(passage.store(grid[i][j], i, q));
        body.line('workgroupBarrier();');
        const store = new CodeBlock();
        store.line(`let down = part_m${plus(i * m)} + unit / ${n / 4}u;`);
        store.line(`let at = down * ${passage.stride}u + unit % ${n / 4}u;`);
        const products = results.map((_, q) => {
          const vector = `${passage.array}[at${plus((q * n) / 4)}]`;
          return softmax === null ? vector : `${vector} / ${passage.scales}[down]`;
        });
        const along = `(unit % ${n / 4}u) * 4u${plus(j * n)}`;
        store.line(`store_c(batch, first_m + down, ${along}, ${products.join(', ')});`);
        body.nest(
          `for (var unit = lane % ${lanes}u; unit < ${(m * n) / 4}u; unit += ${lanes}u)`,
          store,
        );
        body.line('workgroupBarrier();');
      }
    }
  }
}
