/**
 * @file What `verifyScheduled` checks of statements on blocks of products: that products and arrays are there, and that
 * what is multiplied was packed, or made and arranged.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import type { BlockProduct, BlockStmt } from './blocks.js';
import type { ScheduledKernel } from './scheduled-kernel.js';

/** The verifier that asks. */
export interface BlockChecks {
  fail(what: string): never;
  /** All that an index names must be known. */
  index(index: IndexExpr): unknown;
  /** Refuses what nothing may be stored to. */
  writes(buf: string): void;
  isScratch(array: string): boolean;
}

/** See the file header. */
export class BlockVerifier {
  /** Sides of products that are ready, with their arrays. */
  private readonly packed = new Map<string, string | null>();
  /** Arrays of rows that are arranged. */
  private readonly arranged = new Set<string>();

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly checks: BlockChecks,
  ) {}

  stmt(stmt: BlockStmt): void {
    switch (stmt.kind) {
      case 'pack':
        this.indices([stmt.batch, ...stmt.lines.flat(), ...stmt.steps]);
        return this.pack(stmt);
      case 'arrange':
        for (const array of [stmt.array, stmt.from]) this.scratch(array);
        this.arranged.add(stmt.array);
        return;
      case 'product':
        this.indices([stmt.rows, stmt.columns, stmt.steps, stmt.at, stmt.onto]);
        return this.multiply(stmt.product);
    }
  }

  private indices(all: readonly IndexExpr[]): void {
    for (const index of all) this.checks.index(index);
  }

  private scratch(array: string): void {
    if (!this.checks.isScratch(array)) this.checks.fail(`there is no scratch array '${array}'`);
  }

  private product(name: string): BlockProduct {
    const { products = [] } = this.scheduled;
    return (
      products.find((each) => each.name === name) ??
      this.checks.fail(`there is no product '${name}'`)
    );
  }

  /** An array has one block at a time. */
  private pack({ product, side }: Extract<BlockStmt, { kind: 'pack' }>): void {
    const { layout, value } = this.product(product)[side];
    if (layout.kind === 'made' || value === undefined)
      this.checks.fail(`'${product}' has no ${side} to pack`);
    const array = 'array' in layout ? layout.array : null;
    if (array !== null) {
      this.scratch(array);
      for (const [key, other] of this.packed) if (other === array) this.packed.delete(key);
    }
    this.packed.set(`${product}.${side}`, array);
  }

  private multiply(name: string): void {
    const product = this.product(name);
    for (const side of ['a', 'b'] as const) {
      const { layout } = product[side];
      if (layout.kind !== 'made') {
        if (!this.packed.has(`${name}.${side}`))
          this.checks.fail(`${side} of '${name}' is not packed`);
        continue;
      }
      this.scratch(layout.array);
      if (layout.arranged !== undefined && !this.arranged.has(layout.array))
        this.checks.fail(`'${layout.array}' is not arranged`);
    }
    this.checks.writes(product.to);
  }
}
