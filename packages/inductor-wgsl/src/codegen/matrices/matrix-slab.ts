/**
 * @file An operand's slab of a product by subgroup matrices: float16 values, in rows along the direction in which
 * they are loaded, so that nothing is transposed on the way.
 * A thread loads and writes four neighbours at a time, or eight of an operand that is read so.
 */
import type { CodeBlock } from '../code-block.js';
import type { LoadOrder, ProductOperand } from '@tessera/inductor-core';
import { loadedMatrix } from './matrix-text.js';
import { SLAB_PADDING } from './matrix-tiles.js';
import type { Slab } from './slab-walk.js';
import type { MatrixShape } from '../target.js';
import { WIDE } from '../values/wide-halves.js';
import { typeName } from '../values/wgsl-types.js';

/** Where in the operand a slab is, where it lies, and who loads it. */
export interface MatrixSlabPlace {
  /** Values along x, and along k. */
  readonly extent: number;
  readonly bk: number;
  /** Texts of the batch and of the first x. */
  readonly batch: string;
  readonly origin: string;
  readonly threads: number;
  /** Whether the operand is read eight halves at a time. */
  readonly isWide: boolean;
  /** In workgroup memory, of `slabType`, with room for `slabValues` at least. */
  readonly array: string;
}

/** Which factor of a product an operand is. */
export type MatrixSide = 'left' | 'right';

/** What the memory is made of, and how many values are in one. */
export function slabType(isWide: boolean): { readonly type: string; readonly values: number } {
  return isWide ? { type: 'vec4u', values: WIDE } : { type: typeName('f16', 4), values: 4 };
}

/** Values that a slab takes in memory. */
export function slabValues(order: LoadOrder, extent: number, bk: number): number {
  return order === 'vectors along k' ? extent * (bk + SLAB_PADDING) : bk * (extent + SLAB_PADDING);
}

/** What a thread moves at once: text of a test, where the last are too few for all threads, and of its first k and x. */
interface Unit {
  readonly test: string;
  readonly k: string;
  readonly x: string;
}

/** See the file header. */
export class MatrixSlab implements Slab {
  private readonly name: string;
  /** Values from one row to the next. */
  private readonly stride: number;
  private readonly units: readonly Unit[];
  private readonly rowsAlongK: boolean;
  /** Type of a unit, and its values. */
  private readonly type: string;
  private readonly values: number;

  constructor(
    operand: ProductOperand,
    private readonly order: LoadOrder,
    private readonly side: MatrixSide,
    private readonly place: MatrixSlabPlace,
  ) {
    const { extent, bk, isWide } = place;
    ({ type: this.type, values: this.values } = slabType(isWide));
    this.name = operand.name;
    this.rowsAlongK = order === 'vectors along k';
    this.stride = (this.rowsAlongK ? bk : extent) + SLAB_PADDING;
    this.units = this.share();
  }

  declare(block: CodeBlock): void {
    for (const [round] of this.units.entries())
      block.line(`var next_${this.name}${round} = ${this.type}(0);`);
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
      const line = `${this.place.array}[${this.index(x, k)}] = next_${this.name}${round};`;
      block.line(test === '' ? line : `${test} { ${line} }`);
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
    return loadedMatrix(type, order, place.array, this.index(x, k), stride / this.values);
  }

  /** Text of where x and k are in memory. */
  private index(x: string, k: string): string {
    const [row, column] = this.rowsAlongK ? [x, k] : [k, x];
    return `(${row}) * ${this.stride / this.values}u + (${column}) / ${this.values}u`;
  }

  /**
   * The row of a unit, of the `at`-th row's worth of them. Threads that write 128 bytes of short rows together take rows that
   * lie in different banks: of eight, not neighbours but every second or fourth.
   */
  private rowOf(at: string): string {
    const pieces = (this.rowsAlongK ? this.place.bk : this.place.extent) / 8;
    if (pieces !== 2 && pieces !== 4) return at;
    const together = 8 / pieces;
    return `(${at} / 8u * 8u + ${at} % ${together}u * ${pieces}u + ${at} % 8u / ${together}u)`;
  }

  /** The units of each thread. */
  private share(): Unit[] {
    const { order, rowsAlongK, values } = this;
    const { extent, bk, threads } = this.place;
    const count = (bk * extent) / values;
    const along = (rowsAlongK ? bk : extent) / values;
    return Array.from({ length: Math.ceil(count / threads) }, (_, round) => {
      const unit = round === 0 ? 'lane' : `(lane + ${round * threads}u)`;
      const test = (round + 1) * threads > count ? `if (${unit} < ${count}u)` : '';
      const [row, column] =
        order === 'threads along k'
          ? [`${unit} % ${bk}u`, `${unit} / ${bk}u`]
          : [this.rowOf(`${unit} / ${along}u`), `${unit} % ${along}u`];
      const first = `(${column}) * ${values}u`;
      return rowsAlongK ? { test, k: first, x: row } : { test, k: row, x: first };
    });
  }
}
