/**
 * @file Attention and its gradients: tiles of weights are made, used and forgotten.
 *
 * A workgroup makes a tile of rows of the results. It goes through the columns tile by tile: products of `scores` (in
 * slabs, as in matmul.ts), weights of them in registers, the weights into workgroup memory, products with `values`. A
 * softmax keeps the largest logit and the sum of each row, and scales what it has when a larger one comes. Tiles
 * outside of a triangle are not visited.
 */
import {
  addProducts,
  type AttentionKernel,
  eachRow,
  extent,
  type IndexExpr,
  isLarge,
  placeThread,
  Slab,
  sum,
  times,
  variable,
  walkSlabs,
  whole,
} from '@tessera/inductor-core';
import { type Size, sizeCeilDiv } from '@tessera/shared';
import { AttentionFrame, type AttentionOperand } from './attention-frame.js';
import {
  attentionNeeds,
  attentionPadding,
  chooseAttentionTile,
  resultVectors,
  tileColumns,
  type AttentionNeeds,
  type AttentionTile,
} from './attention-tiles.js';
import { AttentionWeights, WEIGHTS } from './attention-weights.js';
import { generateRowAttention } from './attention-row.js';
import type { CodeBlock } from './code-block.js';
import { matrixCode } from './matrix-code.js';
import { plus } from './offset-text.js';
import { spellLets } from './place-text.js';
import type { WgslProgram } from './wgsl-program.js';
import { RegisterBlock } from './register-block.js';
import { RunningSoftmax } from './running-softmax.js';
import type { WgslTarget } from './target.js';
import { tileFacts } from './tile-facts.js';
import type { KernelVariant } from './variant.js';
import { typeName } from './wgsl-types.js';

/** Generates an attention kernel. */
export function generateAttention(
  kernel: AttentionKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  tile?: AttentionTile,
): WgslProgram {
  const row = tile === undefined ? generateRowAttention(kernel, target, variant) : null;
  if (row !== null) return row;
  const needs = attentionNeeds(kernel);
  const matrices = tile === undefined ? matrixCode(target) : null;
  const bySubgroups = matrices?.attention(kernel, needs, target, variant) ?? null;
  if (bySubgroups !== null) return bySubgroups;
  const chosen = tile ?? chooseAttentionTile(needs, target);
  const { bm, tm, tn } = chosen;
  const threads = (bm / tm) * tileColumns(chosen);
  return {
    ...new AttentionGenerator(kernel, target, variant, chosen, needs).generate(),
    schedule: () => tileFacts(kernel.name, { ...chosen, each: 'thread', part: [tm, tn], threads }),
  };
}

class AttentionGenerator {
  private readonly frame: AttentionFrame;
  private readonly vector: string;
  private readonly threads: number;
  private readonly rows: number;
  private readonly columns: number;
  private readonly unrolled: boolean;
  private readonly scoreSlabs: readonly (readonly [Slab, Slab])[];
  private readonly valueSlabs: readonly Slab[];
  private readonly scores: readonly RegisterBlock[];
  private readonly results: readonly RegisterBlock[];
  private readonly weights: AttentionWeights;
  private readonly softmax: RunningSoftmax | null;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: AttentionTile,
    needs: AttentionNeeds,
  ) {
    this.columns = tileColumns(tile);
    this.rows = tile.bm / tile.tm;
    this.threads = this.rows * this.columns;
    const { batch, rows, columns, width } = needs;
    this.unrolled = !target.software && isLarge({ batch, m: rows, n: columns, k: width });
    const groups = resultVectors(tile, width);
    const { bm, bn, bk } = tile;
    const covered = groups * this.columns * 4;
    this.frame = new AttentionFrame(kernel, target, variant, { bm, bn, covered, bk, bj: bn });
    const { builder, type, factors, values } = this.frame;
    this.vector = typeName(type, 4);
    const padding = attentionPadding(tile, needs, target);
    const slabs = this.slabMaker(padding);
    this.scoreSlabs = factors.map(([a, b]) => [slabs('a', a), slabs('b', b)] as const);
    this.valueSlabs = values.map((value) => slabs('v', value));
    this.scores = factors.map((_, p) => new RegisterBlock(`s${p}_`, tile.tm, tile.tn / 4));
    this.results = values.map((_, q) => new RegisterBlock(`r${q}_`, tile.tm, groups));
    this.weights = new AttentionWeights(kernel, this.frame, tile, this.scores, {
      kind: 'by column',
      padding: padding > 0 ? 1 : 0,
    });
    this.frame.parts.array(WEIGHTS, this.weights.array);
    this.softmax = kernel.softmax ? new RunningSoftmax(builder, tile, this.scores[0]) : null;
  }

  /** Slabs whose memory is shared by those of a role: they are never needed at once. */
  private slabMaker(padding: number): (role: string, loaded: AttentionOperand) => Slab {
    const { frame, threads, tile, unrolled, kernel } = this;
    const at = (text: string): IndexExpr => (text === '0u' ? whole(0) : variable(text));
    return (role, { operand: { name }, order, extent: along, batch, origin }) => {
      const slab = new Slab({
        name,
        array: `slab_${role}`,
        order,
        extent: along,
        bk: tile.bk,
        batch: at(batch),
        origin: at(origin),
        threads,
        padding,
        isNumbered: unrolled,
        dtype: kernel.accDtype,
      });
      if (frame.shared.every((each) => each.name !== slab.shared.name))
        frame.shared.push(slab.shared);
      frame.parts.array(slab.shared.name);
      return slab;
    };
  }

  generate(): WgslProgram {
    const { frame, tile, softmax, results } = this;
    const { body, builder } = frame;
    const workgroups = frame.placeTile();
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    spellLets(body, builder, placeThread(tile, builder.target));
    for (const block of results) block.declare(body, this.vector);
    softmax?.declare(body);
    frame.visitColumns((loop) => this.visitTile(loop));
    if (softmax !== null) {
      softmax.finish(body);
      for (const [i, names] of results[0].names.entries())
        for (const name of names) body.line(`${name} /= ${softmax.divisor(i)};`);
    }
    this.storeResults();
    return builder.finish(this.threads, body, workgroups);
  }

  /** The weights of a tile, and what they give. */
  private visitTile(loop: CodeBlock): void {
    const { tile, frame, kernel, unrolled, rows, columns, softmax, weights } = this;
    const { bk } = tile;
    const steps = sizeCeilDiv(extent(kernel.k), bk);
    for (const [p, [a, b]] of this.scoreSlabs.entries()) {
      this.scores[p].declare(loop, this.vector);
      const multiply = eachRow({ bk, isUnrolled: unrolled }, (row) =>
        addProducts(
          this.scores[p].names,
          (g) => a.vectorAt(row, moved('row', g * rows)),
          (g) => b.vectorAt(row, moved('column', g * columns)),
        ),
      );
      loop.scope((scope) =>
        frame.parts.part(scope, walkSlabs({ slabs: [a, b], steps, bk, multiply: [multiply] })),
      );
    }
    weights.compute(loop);
    if (softmax !== null) {
      softmax.advance(loop);
      for (const [i, names] of this.results[0].names.entries())
        for (const name of names) loop.line(`${name} *= ${softmax.shrink(i)};`);
    }
    const blocks = tile.bn / bk;
    for (const [q, slab] of this.valueSlabs.entries()) {
      if (q > 0) loop.line('workgroupBarrier();');
      weights.publish(loop, q);
      const firstK = times(variable('step'), bk);
      const multiply = eachRow({ bk, isUnrolled: unrolled }, (row) =>
        addProducts(
          this.results[q].names,
          (g) => weights.vectorAt(sum(variable('first_k'), row.k), moved('row', g * rows)),
          (g) => slab.vectorAt(row, moved('column', g * columns)),
        ),
      );
      const walk = walkSlabs({
        slabs: [slab],
        steps: blocks,
        bk,
        origin: variable('first_j'),
        multiply: [{ kind: 'let', name: 'first_k', index: firstK }, multiply],
      });
      loop.scope((scope) => frame.parts.part(scope, walk));
    }
  }

  private storeResults(): void {
    const { frame, rows, columns, kernel, softmax } = this;
    const { body } = frame;
    const down = (i: number): string => `first_m + row * 4u${plus((i >> 2) * rows * 4 + (i & 3))}`;
    if (kernel.epilogue.length > 0)
      for (const [i, names] of this.results[0].names.entries()) {
        for (const g of names.keys()) {
          const products = this.results.map((block) => block.names[i][g]).join(', ');
          const along = `column * 4u${plus(g * columns * 4)}`;
          body.line(`store_c(batch, ${down(i)}, ${along}, ${products});`);
        }
      }
    if (kernel.rowStores.length > 0) softmax?.storeRows(body);
  }
}

/** A variable, so much on. */
function moved(name: string, by: number): IndexExpr {
  return sum(variable(name), whole(by));
}
