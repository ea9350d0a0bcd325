/**
 * @file Values of a step of a recurrence, for both kernels that steps run in: recurrence.ts and chain-step.ts.
 */
import { type Expr, LaneContext } from '@tessera/inductor-core';
import type { CodeBlock } from '../code-block.js';
import { ExprEmitter } from '../values/expr-emitter.js';
import type { SymbolText } from '../values/index-emitter.js';
import type { ProgramBuilder } from '../program.js';
import type { ScalarType } from '../values/wgsl-types.js';

/** Texts of loop variables. */
export type Symbols = ReadonlyMap<string, SymbolText>;

/** See the file header. */
export class StepValues {
  private readonly context = new LaneContext({}, []);

  /** @param type of states and products */
  constructor(
    private readonly builder: ProgramBuilder,
    private readonly type: ScalarType,
  ) {}

  /** Writes what `roots` need into a block where the variables are these. */
  emitter(block: CodeBlock, symbols: Symbols, roots: readonly Expr[]): ExprEmitter {
    const emitter = new ExprEmitter(this.builder, this.context, roots);
    emitter.enter(block, symbols);
    return emitter;
  }

  /** States and products, in this order from number `first` on, have these texts. */
  know(emitter: ExprEmitter, first: number, texts: readonly string[]): void {
    for (const [i, text] of texts.entries())
      emitter.setAcc(first + i, { text, type: this.type, width: 1, atom: true });
  }
}
