/**
 * @file Memory of a workgroup through which matrices pass, because what a thread holds of one is not told: scores on
 * their way to threads, and results that are scaled or stored.
 */
import type { TileRegisters } from '@tessera/inductor-core';
import { CodeBlock } from '../code-block.js';
import { type MatrixAttentionTile, scoreStride, weightStride } from './matrix-attention-tiles.js';
import { type Grid, loadedMatrix, resultType, storedMatrix } from './matrix-text.js';
import { plus } from '../values/offset-text.js';
import type { ProgramBuilder } from '../program.js';
import type { MatrixShape } from '../target.js';
import { typeName } from '../values/wgsl-types.js';

const HALVES = typeName('f16', 4);

/** See the file header. Every subgroup has rows of its own. */
export class MatrixPassage {
  /** Of vectors of four. */
  readonly array: string;
  /** Vectors from row to row. */
  readonly stride: number;
  /** A number for each row: what results are scaled by. */
  readonly scales: string;
  /** Weights, in rows of float16. */
  readonly weights: string;

  constructor(
    builder: ProgramBuilder,
    private readonly tile: MatrixAttentionTile,
    private readonly shape: MatrixShape,
    private readonly lanes: number,
  ) {
    this.stride = scoreStride(tile) / 4;
    this.array = builder.workgroupArray('passage', 'vec4f', tile.bm * this.stride);
    this.scales = builder.workgroupArray('scales', 'f32', tile.bm);
    this.weights = builder.workgroupArray('weights', HALVES, (tile.bm * weightStride(tile)) / 4);
  }

  /** Text that lays a matrix in the passage: in the rows `i` of its subgroup, at column `j`. */
  store(name: string, i: number, j: number): string {
    return storedMatrix(name, this.array, this.at(i, j), this.stride);
  }

  private at(i: number, j: number): string {
    const { m, n } = this.shape;
    return `(part_m${plus(i * m)}) * ${this.stride}u${plus((j * n) / 4)}`;
  }

  /** Scores that this thread makes weights of. */
  readScores(loop: CodeBlock, scores: TileRegisters): void {
    this.each(scores, this.stride, (name, at) => loop.line(`${name} = ${this.array}[${at}];`));
  }

  /** Lays weights in memory; a barrier must follow. */
  layWeights(loop: CodeBlock, weights: TileRegisters): void {
    this.each(weights, weightStride(this.tile) / 4, (name, at) =>
      loop.line(`${this.weights}[${at}] = ${HALVES}(${name});`),
    );
  }

  /** Visits a thread's vectors with their places in rows so long. */
  private each(
    registers: TileRegisters,
    stride: number,
    visit: (name: string, at: string) => void,
  ): void {
    const { bm, bn, tm, tn } = this.tile;
    for (const [i, names] of registers.entries()) {
      const down = `(row * 4u${plus((i >> 2) * (bm / tm) * 4 + (i & 3))})`;
      for (const [g, name] of names.entries())
        visit(name, `${down} * ${stride}u + column${plus((g * bn) / tn)}`);
    }
  }

  /** Lays a number for each row in memory; `of` is the text of a thread's row. */
  publishScales(of: (i: number) => string, target: CodeBlock): void {
    const { tile, scales } = this;
    const rows = tile.bm / tile.tm;
    const stores = new CodeBlock();
    for (let i = 0; i < tile.tm; i++)
      stores.line(`${scales}[row * 4u${plus((i >> 2) * rows * 4 + (i & 3))}] = ${of(i)};`);
    target.nest('if (column == 0u)', stores);
  }

  /** Multiplies results by the scales of their rows, as many matrices at a time as there is memory for. */
  scaleRows(block: CodeBlock, results: Grid): void {
    const { shape, lanes, array, scales, stride, tile } = this;
    const atOnce = tile.bn / shape.n;
    for (const [i, names] of results.entries()) {
      for (let j = 0; j < names.length; j += atOnce) {
        const some = names.slice(j, j + atOnce);
        for (const [at, name] of some.entries()) block.line(this.store(name, i, at));
        block.line('workgroupBarrier();');
        const width = (some.length * shape.n) / 4;
        const each = new CodeBlock();
        each.line(`let down = part_m${plus(i * shape.m)} + unit / ${width}u;`);
        each.line(`${array}[down * ${stride}u + unit % ${width}u] *= ${scales}[down];`);
        const count = shape.m * width;
        block.nest(`for (var unit = lane % ${lanes}u; unit < ${count}u; unit += ${lanes}u)`, each);
        block.line('workgroupBarrier();');
        for (const [at, name] of some.entries())
          block.line(
            `${name} = ${loadedMatrix(resultType(shape), 'row_major', array, this.at(i, at), stride)};`,
          );
        block.line('workgroupBarrier();');
      }
    }
  }

  /** Passes results to `store_c`, a matrix of each at a time; divided by the scales of their rows if they are to be. */
  storeResults(body: CodeBlock, results: readonly Grid[], isScaled: boolean): void {
    const { shape, lanes, array, scales, stride } = this;
    const { m, n } = shape;
    for (const [i, names] of results[0].entries()) {
      for (const j of names.keys()) {
        for (const [q, grid] of results.entries()) body.line(this.store(grid[i][j], i, q));
        body.line('workgroupBarrier();');
        const store = new CodeBlock();
        store.line(`let down = part_m${plus(i * m)} + unit / ${n / 4}u;`);
        store.line(`let at = down * ${stride}u + unit % ${n / 4}u;`);
        const products = results.map((_, q) => {
          const vector = `${array}[at${plus((q * n) / 4)}]`;
          return isScaled ? `${vector} / ${scales}[down]` : vector;
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
