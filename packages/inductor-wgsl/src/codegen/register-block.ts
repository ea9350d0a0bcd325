/**
 * @file A thread's block of results of a product, in registers named one by one: arrays might be kept in memory.
 *
 * Rows are in groups of four, columns in vectors of four.
 */
import type { CodeBlock } from './code-block.js';

/** See the file header. */
export class RegisterBlock {
  /** Name of each vector, by row and group of columns. */
  readonly names: readonly (readonly string[])[];

  /** @param prefix its names begin with it: `c0_1` */
  constructor(prefix: string, rows: number, groups: number) {
    this.names = Array.from({ length: rows }, (_, i) =>
      Array.from({ length: groups }, (_, g) => `${prefix}${i}_${g}`),
    );
  }

  /** Declares it as zeros. */
  declare(body: CodeBlock, vector: string): void {
    for (const name of this.names.flat()) body.line(`var ${name} = ${vector}(0);`);
  }
}
