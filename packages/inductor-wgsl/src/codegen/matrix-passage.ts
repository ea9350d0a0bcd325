/**
 * @file Memory of a workgroup through which matrices pass, because what a thread holds of one is not told: scores on
 * their way to threads, and results that are scaled or stored.
 */
import { CodeBlock } from './code-block.js';
import { type MatrixAttentionTile, scoreStride } from './matrix-attention-tiles.js';
import { type Grid, loadedMatrix, resultType, storedMatrix } from './matrix-text.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from './program.js';
import type { RegisterBlock } from './register-block.js';
import type { MatrixShape } from './target.js';

/** See the file header. Every subgroup has rows of its own. */
export class MatrixPassage {
  /** Of vectors of four. */
  readonly array: string;
  /** Vectors from row to row. */
  readonly stride: number;
  /** A number for each row: what results are scaled by. */
  readonly scales: string;

  constructor(
    builder: ProgramBuilder,
    private readonly tile: MatrixAttentionTile,
    private readonly shape: MatrixShape,
    private readonly lanes: number,
  ) {
    this.stride = scoreStride(tile) / 4;
    this.array = builder.workgroupArray('passage', 'vec4f', tile.bm * this.stride);
    this.scales = builder.workgroupArray('scales', 'f32', tile.bm);
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
  readScores(loop: CodeBlock, scores: RegisterBlock): void {
    const { tile, array, stride } = this;
    const [rows, columns] = [tile.bm / tile.tm, tile.bn / tile.tn];
    for (const [i, names] of scores.names.entries()) {
      const down = `(row * 4u${plus((i >> 2) * rows * 4 + (i & 3))})`;
      for (const [g, name] of names.entries())
        loop.line(`var ${name} = ${array}[${down} * ${stride}u + column${plus(g * columns)}];`);
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
}
