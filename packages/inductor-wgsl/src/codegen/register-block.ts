/**
 * @file A thread's block of results of a product, in registers named one by one: arrays might be kept in memory.
 *
 * Rows are in groups of four, columns in vectors of four.
 */
import { CodeBlock } from './code-block.js';

/** See the file header. */
export class RegisterBlock {
  /** Name of each vector, by row and group of columns. */
  readonly names: readonly (readonly string[])[];

  /** @param prefix its names begin with it: `c0_1` */
  constructor(
    prefix: string,
    private readonly rows: number,
    private readonly groups: number,
  ) {
    this.names = Array.from({ length: rows }, (_, i) =>
      Array.from({ length: groups }, (_, g) => `${prefix}${i}_${g}`),
    );
  }

  /** Declares it as zeros. */
  declare(body: CodeBlock, vector: string): void {
    for (const name of this.names.flat()) body.line(`var ${name} = ${vector}(0);`);
  }

  /** Adds the products of one row of both slabs: `a(g)` has four rows' factors, `b(g)` those of four columns. */
  addStep(a: (group: number) => string, b: (group: number) => string): CodeBlock {
    const step = new CodeBlock();
    for (let g = 0; g < this.rows / 4; g++) step.line(`let a${g} = ${a(g)};`);
    for (let g = 0; g < this.groups; g++) step.line(`let b${g} = ${b(g)};`);
    for (const [i, names] of this.names.entries()) {
      for (const [g, name] of names.entries())
        step.line(`${name} += a${i >> 2}.${'xyzw'[i & 3]} * b${g};`);
    }
    return step;
  }
}
