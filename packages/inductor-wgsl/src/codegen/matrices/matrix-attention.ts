/**
 * @file Attention of float16 operands by subgroup matrices.
 *
 * As in `attention.ts` a workgroup goes through the columns tile by tile. Here a subgroup owns whole rows of results
 * and holds them, and the first factors, as matrices. What a thread holds of a matrix is not told, so scores pass
 * through workgroup memory to become weights, and so do results where they are scaled: that is put off while weights
 * stay small, and seldom happens after the first tiles.
 */
import {
  type AttentionKernel,
  type AttentionOperand,
  type IndexExpr,
  placeThread,
  registerBlock,
  RunningSoftmax,
  type ScheduledStmt,
  type TileRegisters,
  visitColumns,
  weighScores,
  weightRegisters,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { AttentionFrame } from './attention-frame.js';
import { CodeBlock } from '../code-block.js';
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
import { plus } from '../values/offset-text.js';
import type { ProgramBuilder } from '../program.js';
import type { WgslProgram } from '../wgsl-program.js';
import type { MatrixShape, WgslTarget } from '../target.js';
import { tileFacts } from '../scheduled/tile-facts.js';
import type { KernelVariant } from '../variant.js';

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
  private readonly scores: readonly TileRegisters[];
  private readonly weights: readonly TileRegisters[];
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
    this.scores = kernel.scores.map((_, p) => registerBlock(`s${p}_`, tm, tn / 4));
    this.weights = weightRegisters(kernel, tile, this.scores);
    const logits = this.scores[0];
    this.softmax = kernel.softmax
      ? new RunningSoftmax({ tile, logits, target, slack: SLACK, inSubgroup: true })
      : null;
    // The last: what matrices are loaded from must begin at a multiple of 16 bytes.
    // Of 16 bytes.
    this.grown = kernel.softmax ? `${builder.workgroupArray('grown', 'atomic<u32>', 4)}[0]` : '';
  }

  generate(): WgslProgram {
    const { frame, builder, tile, softmax, kernel } = this;
    const { body, parts, workgroups } = frame;
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    parts.part(body, placeThread(tile, builder.target));
    body.line(`let part_m = (lane / ${this.lanes}u) * ${this.perSubgroup}u;`);
    this.loadFactors();
    for (const name of this.results.flat(2))
      body.line(`var ${name} = ${resultType(this.shape)}();`);
    if (softmax !== null) {
      parts.part(body, softmax.begin);
      body.line('var visit = 0u;');
    }
    for (const slab of this.columns) slab.declare(body);
    for (const slab of this.values) slab.declare(body);
    parts.inline('begin_turn', (walk, [first]) => this.columns[0].fetch(walk, '0u', first));
    parts.inline('visit_tile', (loop) => this.visitTile(loop));
    const visit = (routine: string, at: readonly IndexExpr[]): ScheduledStmt[] => [
      { kind: 'visit', routine, at, of: [] },
    ];
    const columns = visitColumns(kernel, tile, {
      prepare: (first) => visit('begin_turn', [first]),
      visit: visit('visit_tile', []),
    });
    parts.part(body, columns);
    if (softmax !== null) {
      parts.part(body, softmax.finish);
      this.passage.publishScales((i) => parts.value(softmax.divisor(i)), body);
    }
    if (kernel.epilogue.length > 0) this.passage.storeResults(body, this.results, softmax !== null);
    if (softmax !== null && kernel.rowStores.length > 0) parts.part(body, [softmax.storeRows]);
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
      batch: frame.parts.place(batch),
      origin: frame.parts.place(origin),
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
    const { tile, softmax, scores, weights, columns, values, frame, passage } = this;
    const { parts } = frame;
    for (const [p, slab] of columns.entries()) {
      loop.scope((inner) => slab.publish(inner));
      loop.line('workgroupBarrier();');
      const next = columns[p + 1] ?? values[0];
      next.fetch(loop, p + 1 < columns.length ? '0u' : 'first_j');
      loop.scope((inner) => this.multiplyFactors(inner, p));
      loop.line('workgroupBarrier();');
      parts.part(loop, [{ kind: 'clear', of: scores[p].flat() }]);
      passage.readScores(loop, scores[p]);
    }
    parts.part(loop, weighScores(tile, frame.place, scores, weights));
    if (softmax !== null) parts.part(loop, softmax.advance);
    for (const [q, slab] of values.entries()) {
      if (q > 0) loop.line('workgroupBarrier();');
      passage.layWeights(loop, weights[q]);
      loop.scope((inner) => slab.publish(inner));
      if (softmax !== null) {
        loop.line('visit++;');
        loop.line(`if (grows) { atomicStore(&${this.grown}, visit); }`);
        passage.publishScales((i) => parts.value(softmax.shrink(i)), loop);
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
          (inner) => passage.scaleRows(inner, this.results[0]),
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
    const { shape, tile, results, values, passage } = this;
    const stride = weightStride(tile) / 4;
    const left = `subgroup_matrix_left<f16, ${shape.k}, ${shape.m}>`;
    for (let k = 0; k < tile.bn; k += shape.k) {
      const step = new CodeBlock();
      for (const i of results[q].keys()) {
        const at = `(part_m${plus(i * shape.m)}) * ${stride}u${plus(k / 4)}`;
        step.line(`let w${i} = ${loadedMatrix(left, 'row_major', passage.weights, at, stride)};`);
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
}
