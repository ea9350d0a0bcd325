/**
 * @file An operand's slab of a product by subgroup matrices: float16 values, in rows along the direction in which
 * they are loaded, so that nothing is transposed on the way.
 */
import type { CodeBlock } from './code-block.js';
import type { LoadOrder, Operand } from './matmul-operand.js';
import { SLAB_PADDING } from './matrix-tiles.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from './program.js';
import type { Slab } from './slab-walk.js';
import { slabUnits, type SlabUnit } from './slab-units.js';
import { typeName } from './wgsl-types.js';

/** Where in the operand a slab is, and who loads it. */
export interface MatrixSlabPlace {
  /** Values along x, and along k. */
  readonly extent: number;
  readonly bk: number;
  /** Text of the first x. */
  readonly origin: string;
  readonly threads: number;
}

/** See the file header. */
export class MatrixSlab implements Slab {
  private readonly array: string;
  private readonly name: string;
  /** Values from one row to the next. */
  private readonly stride: number;
  private readonly units: readonly SlabUnit[];
  private readonly rowsAlongK: boolean;

  constructor(
    operand: Operand,
    order: LoadOrder,
    private readonly place: MatrixSlabPlace,
    builder: ProgramBuilder,
  ) {
    const { extent, bk } = place;
    this.name = operand.name;
    this.rowsAlongK = order === 'vectors along k';
    const [rows, length] = this.rowsAlongK ? [extent, bk] : [bk, extent];
    this.stride = length + SLAB_PADDING;
    this.array = builder.workgroupArray(`slab_${this.name}`, 'f16', rows * this.stride);
    this.units = slabUnits(order, place);
  }

  declare(block: CodeBlock): void {
    for (const [round] of this.units.entries())
      block.line(`var next_${this.name}${round} = ${typeName('f16', 4)}(0);`);
  }

  fetch(block: CodeBlock, first: string): void {
    for (const [round, { k, x, test }] of this.units.entries()) {
      const line = `next_${this.name}${round} = load_${this.name}(batch, ${this.place.origin} + ${x}, ${first} + ${k});`;
      block.line(test === '' ? line : `${test} { ${line} }`);
    }
  }

  publish(block: CodeBlock): void {
    for (const [round, { k, x, test }] of this.units.entries()) {
      const at = `at_${this.name}${round}`;
      block.line(`let ${at} = ${this.index(x, k)};`);
      const writes = [0, 1, 2, 3].map(
        (j) => `${this.array}[${at}${plus(j)}] = next_${this.name}${round}[${j}];`,
      );
      if (test === '') for (const line of writes) block.line(line);
      else block.line(`${test} { ${writes.join(' ')} }`);
    }
  }

  /** Text that loads the matrix of a type that begins at x and k. */
  matrixAt(type: string, x: string, k: string): string {
    const order = this.rowsAlongK === (this.name === 'b') ? 'col_major' : 'row_major';
    return `subgroupMatrixLoad<${type}, ${order}>(&${this.array}, ${this.index(x, k)}, ${this.stride}u)`;
  }

  private index(x: string, k: string): string {
    const [row, column] = this.rowsAlongK ? [x, k] : [k, x];
    return `(${row}) * ${this.stride}u + ${column}`;
  }
}
