/**
 * @file An operand's slab of a product by subgroup matrices: float16 values, in rows along the direction in which
 * they are loaded, so that nothing is transposed on the way.
 */
import type { CodeBlock } from './code-block.js';
import type { LoadOrder, Operand } from './matmul-operand.js';
import { SLAB_PADDING } from './matrix-tiles.js';
import { plus } from './offset-text.js';
import type { Slab } from './slab-walk.js';
import { slabUnits, type SlabUnit } from './slab-units.js';
import type { MatrixShape } from './target.js';
import { typeName } from './wgsl-types.js';

/** Where in the operand a slab is, where it lies, and who loads it. */
export interface MatrixSlabPlace {
  /** Values along x, and along k. */
  readonly extent: number;
  readonly bk: number;
  /** Texts of the batch and of the first x. */
  readonly batch: string;
  readonly origin: string;
  readonly threads: number;
  /** Of float16, in workgroup memory; of `slabValues` at least. */
  readonly array: string;
}

/** Which factor of a product an operand is. */
export type MatrixSide = 'left' | 'right';

/** Values that a slab takes in memory. */
export function slabValues(order: LoadOrder, extent: number, bk: number): number {
  return order === 'vectors along k' ? extent * (bk + SLAB_PADDING) : bk * (extent + SLAB_PADDING);
}

/** See the file header. */
export class MatrixSlab implements Slab {
  private readonly name: string;
  /** Values from one row to the next. */
  private readonly stride: number;
  private readonly units: readonly SlabUnit[];
  private readonly rowsAlongK: boolean;

  constructor(
    operand: Operand,
    order: LoadOrder,
    private readonly side: MatrixSide,
    private readonly place: MatrixSlabPlace,
  ) {
    const { extent, bk } = place;
    this.name = operand.name;
    this.rowsAlongK = order === 'vectors along k';
    this.stride = (this.rowsAlongK ? bk : extent) + SLAB_PADDING;
    this.units = slabUnits(order, place);
  }

  declare(block: CodeBlock): void {
    for (const [round] of this.units.entries())
      block.line(`var next_${this.name}${round} = ${typeName('f16', 4)}(0);`);
  }

  fetch(block: CodeBlock, first: string, origin: string = this.place.origin): void {
    const { batch } = this.place;
    for (const [round, { k, x, test }] of this.units.entries()) {
      const line = `next_${this.name}${round} = load_${this.name}(${batch}, ${origin} + ${x}, ${first} + ${k});`;
      block.line(test === '' ? line : `${test} { ${line} }`);
    }
  }

  publish(block: CodeBlock): void {
    for (const [round, { k, x, test }] of this.units.entries()) {
      const at = `at_${this.name}${round}`;
      block.line(`let ${at} = ${this.index(x, k)};`);
      const writes = [0, 1, 2, 3].map(
        (j) => `${this.place.array}[${at}${plus(j)}] = next_${this.name}${round}[${j}];`,
      );
      if (test === '') for (const line of writes) block.line(line);
      else block.line(`${test} { ${writes.join(' ')} }`);
    }
  }

  /** Text that loads the matrix that begins at x and k. */
  matrixAt({ m, n, k: depth }: MatrixShape, x: string, k: string): string {
    const { side, rowsAlongK, place, stride } = this;
    const order = rowsAlongK === (side === 'right') ? 'col_major' : 'row_major';
    const type =
      side === 'left'
        ? `subgroup_matrix_left<f16, ${depth}, ${m}>`
        : `subgroup_matrix_right<f16, ${n}, ${depth}>`;
    return `subgroupMatrixLoad<${type}, ${order}>(&${place.array}, ${this.index(x, k)}, ${stride}u)`;
  }

  private index(x: string, k: string): string {
    const [row, column] = this.rowsAlongK ? [x, k] : [k, x];
    return `(${row}) * ${this.stride}u + ${column}`;
  }
}
