/**
 * @file An operand's slab of a matmul: `bk` rows along x in workgroup memory, loaded by all threads through registers.
 *
 * Rows are arrays of their own, so that an index that is the same at each step is checked once. A thread that loads along k
 * writes to four rows. Padded by one vector, every eighth row begins in the same bank of memory: where there is room, eight
 * rows are shifted against those before them, so that such threads do not meet.
 */
import type { CodeBlock } from './code-block.js';
import type { LoadOrder, Operand } from './matmul-operand.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from './program.js';
import type { Slab, SlabRow } from './slab-walk.js';
import { slabUnits, type BlockLoaders, type SlabUnit } from './slab-units.js';
import { typeName, type ScalarType } from './wgsl-types.js';

/** The workgroup that a slab belongs to. */
export interface SlabWorkgroup {
  readonly builder: ProgramBuilder;
  readonly threads: number;
  readonly type: ScalarType;
  /** Vectors of padding after each row; of more than one, all but one are for shifts. */
  readonly padding: number;
  /** Whether rows are read by numbers that are known. */
  readonly numbered: boolean;
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
  /** Who loads it in blocks, if it is loaded so. */
  readonly loaders?: BlockLoaders | undefined;
}

/** See the file header. */
export class MatmulSlab implements Slab {
  private readonly name: Operand['name'];
  private readonly array: string;
  private readonly extent: number;
  private readonly vector: string;
  /** Whether rows are arrays of vectors. */
  private readonly whole: boolean;
  /** Vectors by which eight rows are shifted against those before them. */
  private readonly shift: number;

  constructor(
    operand: Operand,
    private readonly order: LoadOrder,
    private readonly place: SlabPlace,
    private readonly workgroup: SlabWorkgroup,
  ) {
    const { type, padding, numbered } = workgroup;
    const { bk, extent, loaders } = place;
    this.name = operand.name;
    this.extent = extent;
    this.vector = typeName(type, 4);
    const alongK = order === 'vectors along k';
    this.whole = !alongK || loaders !== undefined;
    this.shift = alongK && numbered && padding > 1 ? Math.floor((padding - 1) / (bk / 8 - 1)) : 0;
    const vectors = extent / 4 + (this.shift > 0 ? padding : Math.min(padding, 1));
    const row = this.whole
      ? `array<${this.vector}, ${vectors}>`
      : `array<${typeName(type, 1)}, ${vectors * 4}>`;
    this.array = workgroup.array(operand, row, bk);
  }

  declare(block: CodeBlock): void {
    if (this.place.loaders?.first) return;
    for (const name of this.units().flatMap((_, round) => this.registers(round)))
      block.line(`var ${name} = ${this.vector}(0);`);
  }

  fetch(block: CodeBlock, first: string): void {
    const { batch, origin } = this.place;
    this.each(block, ({ k, x }, names) =>
      names.map(
        (name, j) =>
          `${name} = load_${this.name}(${batch}, ${origin} + ${x}${plus(j)}, ${first} + ${k});`,
      ),
    );
  }

  publish(block: CodeBlock): void {
    this.each(block, ({ k, at }, names) => {
      if (this.order !== 'vectors along k') return [`${this.array}[${k}][${at}] = ${names[0]};`];
      const value = (part: string): string =>
        this.whole
          ? `${this.vector}(${names.map((name) => `${name}.${part}`).join(', ')})`
          : `${names[0]}.${part}`;
      return [...'xyzw'].map(
        (part, j) => `${this.array}[${k}${plus(j)}][${this.shifted(k, at)}] = ${value(part)};`,
      );
    });
  }

  /** Text of four values of a row. */
  vectorAt({ k, eights, eightsOfSlice }: SlabRow, vector: string): string {
    const { shift } = this;
    const slice = shift > 0 && eightsOfSlice !== '' ? ` + ${eightsOfSlice} * ${shift}u` : '';
    const at = `${vector}${slice}${plus(eights * shift)}`;
    if (this.whole) return `${this.array}[${k}][${at}]`;
    const parts = [0, 1, 2, 3].map((j) => `${this.array}[${k}][(${at}) * 4u${plus(j)}]`);
    return `${this.vector}(${parts.join(', ')})`;
  }

  /** Text of where vector, or value, `at` of row `k` is. */
  private shifted(k: string, at: string): string {
    const by = this.whole ? this.shift : 4 * this.shift;
    return by === 0 ? at : `${at} + ${k} / 8u * ${by}u`;
  }

  /** The registers of a unit. */
  private registers(round: number): string[] {
    const { loaders } = this.place;
    if (loaders === undefined) return [`next_${this.name}${round}`];
    return [0, 1, 2, 3].map((j) => `${loaders.registers}${round * 4 + j}`);
  }

  /** Appends the lines of each unit, for the threads that have it. */
  private each(
    block: CodeBlock,
    lines: (unit: SlabUnit, registers: readonly string[]) => string[],
  ): void {
    for (const [round, unit] of this.units().entries()) {
      const all = lines(unit, this.registers(round));
      if (unit.test === '') for (const line of all) block.line(line);
      else block.line(`${unit.test} { ${all.join(' ')} }`);
    }
  }

  private units(): SlabUnit[] {
    const { extent, order, place, workgroup } = this;
    const { bk, loaders } = place;
    return slabUnits(order, { extent, bk, threads: workgroup.threads, loaders });
  }
}
