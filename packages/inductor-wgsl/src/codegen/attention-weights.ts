/**
 * @file The weights of a tile: computed of the scores in registers, and laid in workgroup memory by column.
 */
import type { AttentionKernel, IndexExpr, RegisterValue } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { AttentionFrame } from './attention-frame.js';
import type { AttentionTile } from './attention-tiles.js';
import { CodeBlock } from './code-block.js';
import { plus } from './offset-text.js';
import { RegisterBlock } from './register-block.js';
import { addWeighFunction } from './weigh-function.js';
import { typeName } from './wgsl-types.js';

const HALVES = typeName('f16', 4);

/** The memory of weights, as scheduled parts call it. */
export const WEIGHTS = 'weights.';

/** How weights lie in workgroup memory: columns as vectors of four rows, or rows of float16, so many values apart. */
export type WeightLayout =
  | { readonly kind: 'by column'; readonly padding: 0 | 1 }
  | { readonly kind: 'by row'; readonly stride: number };

/** See the file header. Weights take the registers of the scores. */
export class AttentionWeights {
  /** Name of the memory. */
  readonly array: string;
  private readonly blocks: readonly RegisterBlock[];
  private readonly vector: string;

  /** @param scores with vectors along the columns */
  constructor(
    kernel: AttentionKernel<Size>,
    private readonly frame: AttentionFrame,
    private readonly tile: AttentionTile,
    private readonly scores: readonly RegisterBlock[],
    private readonly layout: WeightLayout,
  ) {
    const { bm, bn, tm, tn } = tile;
    const { builder, type } = frame;
    this.vector = typeName(type, 4);
    this.array =
      layout.kind === 'by row'
        ? builder.workgroupArray('weights', HALVES, (bm * layout.stride) / 4)
        : builder.workgroupArray(
            'weights',
            `array<${this.vector}, ${bm / 4 + layout.padding}>`,
            bn,
          );
    this.blocks = kernel.weights.map(
      (_, q) => scores[q] ?? new RegisterBlock(`w${q}_`, tm, tn / 4),
    );
    for (const q of kernel.weights.keys()) addWeighFunction(frame, kernel, q, bn);
  }

  /** Replaces scores by weights; those outside of the columns are zero, or logits of it. */
  compute(loop: CodeBlock): void {
    const { scores, tile, vector, frame } = this;
    const [rows, columns] = [tile.bm / tile.tm, tile.bn / tile.tn];
    for (const block of this.blocks.slice(scores.length)) block.declare(loop, vector);
    for (let i = 0; i < tile.tm; i++) {
      const down = `first_m + row * 4u${plus((i >> 2) * rows * 4 + (i & 3))}`;
      for (let g = 0; g < tile.tn / 4; g++) {
        const along = `first_j + column * 4u${plus(g * columns * 4)}`;
        const given = scores.map((block) => block.names[i][g]).join(', ');
        const made = new CodeBlock();
        for (const q of this.blocks.keys())
          made.line(`let weight${q} = weigh${q}(${frame.place}, ${down}, ${along}, ${given});`);
        for (const [q, block] of this.blocks.entries())
          made.line(`${block.names[i][g]} = weight${q};`);
        loop.nest('', made);
      }
    }
  }

  /** Lays weights `q` in workgroup memory; a barrier must follow. */
  publish(loop: CodeBlock, q: number): void {
    const { tile, vector, layout } = this;
    const [rows, columns] = [tile.bm / tile.tm, tile.bn / tile.tn];
    const { names } = this.blocks[q];
    for (let r = 0; r < tile.tm / 4; r++) {
      for (let g = 0; g < tile.tn / 4; g++) {
        if (layout.kind === 'by row') {
          for (const i of [0, 1, 2, 3]) {
            const at = `(row * 4u${plus(r * rows * 4 + i)}) * ${layout.stride / 4}u + column${plus(g * columns)}`;
            loop.line(`${this.array}[${at}] = ${HALVES}(${names[r * 4 + i][g]});`);
          }
          continue;
        }
        for (const [c, lane] of [...'xyzw'].entries()) {
          const parts = [0, 1, 2, 3].map((i) => `${names[r * 4 + i][g]}.${lane}`).join(', ');
          const at = `column * 4u${plus(g * columns * 4 + c)}`;
          loop.line(`${this.array}[${at}][row${plus(r * rows)}] = ${vector}(${parts});`);
        }
      }
    }
  }

  /** Four rows' weights of a column; by column only. */
  vectorAt(column: IndexExpr, vector: IndexExpr): RegisterValue {
    return { kind: 'read', from: { array: WEIGHTS, row: column, at: vector } };
  }
}
