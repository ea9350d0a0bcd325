/**
 * @file An operand's slab of a matmul: `bk` rows along x in workgroup memory, loaded by all threads through registers.
 *
 * Rows are arrays of their own, so that an index that is the same at each step is checked once.
 */
import type { CodeBlock } from './code-block.js';
import type { LoadOrder, Operand } from './matmul-operand.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from './program.js';
import type { Slab } from './slab-walk.js';
import { slabUnits, type SlabUnit } from './slab-units.js';
import { typeName, type ScalarType } from './wgsl-types.js';

/** The workgroup that a slab belongs to. */
export interface SlabWorkgroup {
  readonly builder: ProgramBuilder;
  readonly threads: number;
  readonly type: ScalarType;
  /** Vectors of padding after each row. */
  readonly padding: 0 | 1;
  /** Declares the memory of a slab: rows of a type. */
  array(operand: Operand, row: string, rows: number): string;
}

/** Where in the operand a slab is. */
export interface SlabPlace {
  /** Values along x, and rows along k. */
  readonly extent: number;
  readonly bk: number;
  /** Texts of the batch and of the first x. */
  readonly batch: string;
  readonly origin: string;
}

/** See the file header. */
export class MatmulSlab implements Slab {
  private readonly name: Operand['name'];
  private readonly array: string;
  private readonly extent: number;
  private readonly vector: string;

  constructor(
    operand: Operand,
    private readonly order: LoadOrder,
    private readonly place: SlabPlace,
    private readonly workgroup: SlabWorkgroup,
  ) {
    const { type, padding } = workgroup;
    this.name = operand.name;
    this.extent = place.extent;
    this.vector = typeName(type, 4);
    const vectors = this.extent / 4 + padding;
    const row =
      order === 'vectors along k'
        ? `array<${typeName(type, 1)}, ${vectors * 4}>`
        : `array<${this.vector}, ${vectors}>`;
    this.array = workgroup.array(operand, row, place.bk);
  }

  declare(block: CodeBlock): void {
    for (const [round] of this.units().entries())
      block.line(`var next_${this.name}${round} = ${this.vector}(0);`);
  }

  fetch(block: CodeBlock, first: string): void {
    const { batch, origin } = this.place;
    for (const [round, { k, x, test }] of this.units().entries()) {
      const line = `next_${this.name}${round} = load_${this.name}(${batch}, ${origin} + ${x}, ${first} + ${k});`;
      block.line(test === '' ? line : `${test} { ${line} }`);
    }
  }

  publish(block: CodeBlock): void {
    for (const [round, { k, at, test }] of this.units().entries()) {
      const value = `next_${this.name}${round}`;
      const writes =
        this.order === 'vectors along k'
          ? [0, 1, 2, 3].map((j) => `${this.array}[${k}${plus(j)}][${at}] = ${value}.${'xyzw'[j]};`)
          : [`${this.array}[${k}][${at}] = ${value};`];
      if (test === '') for (const line of writes) block.line(line);
      else block.line(`${test} { ${writes.join(' ')} }`);
    }
  }

  /** Text of four values of row `k`. */
  vectorAt(k: string, vector: string): string {
    if (this.order !== 'vectors along k') return `${this.array}[${k}][${vector}]`;
    const parts = [0, 1, 2, 3].map((j) => `${this.array}[${k}][(${vector}) * 4u${plus(j)}]`);
    return `${this.vector}(${parts.join(', ')})`;
  }

  private units(): SlabUnit[] {
    const { extent, order, place, workgroup } = this;
    return slabUnits(order, { extent, bk: place.bk, threads: workgroup.threads });
  }
}
