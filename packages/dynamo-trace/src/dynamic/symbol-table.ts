/**
 * @file `SymbolTable`: the symbols of one compiled function, with every value each was seen to have.
 *
 * A symbol stands for a size or an integer argument that may vary. The values seen in real calls are
 * the points through which expressions of symbols are fitted.
 */
import { ShapeEnv, type Size, type SizeFunction, type SymInt, compileSize } from '@tessera/shared';
import { KnownPlace } from './known-place.js';
import { ShapeBindings } from './shape-binding.js';

/** Bounds of a symbol. */
export interface SymbolRange {
  readonly min: number;
  readonly max: number;
}

/** A symbol of a trace. */
export interface SymbolEntry extends SymbolRange {
  readonly index: number;
  readonly symbol: SymInt;
  /** Where it is read first: `L['x'].size()[0]`. */
  readonly source: string;
  /** Value in each captured call that met it, by the number of the capture. */
  readonly values: Map<number, number>;
}

/** Sizes 0 and 1 broadcast and vanish, so a symbolic size is at least 2, as in PyTorch. */
export const SIZE_RANGE: SymbolRange = { min: 2, max: Infinity };
/** An integer argument may be anything. */
export const ANY_RANGE: SymbolRange = { min: -Infinity, max: Infinity };

/** See the file header. */
export class SymbolTable {
  readonly bindings: ShapeBindings = new ShapeBindings();
  readonly entries: SymbolEntry[] = [];
  /** What is known where no step was matched. */
  readonly start: KnownPlace = new KnownPlace();
  /** Sizes of arguments in captured calls, by printed source: a dim that changed once is dynamic. */
  readonly sizesSeen: Map<string, Map<number, number>> = new Map();
  private readonly env = new ShapeEnv();
  private readonly indices = new Map<SymInt, number>();

  /** A new symbol. @throws invalid-argument if the hint is out of range */
  create(hint: number, source: string, range: SymbolRange): SymbolEntry {
    const symbol = this.env.createSymbol(hint, { source, ...range });
    const index = this.entries.length;
    const entry: SymbolEntry = { index, symbol, source, ...range, values: new Map() };
    this.entries.push(entry);
    this.indices.set(symbol, index);
    return entry;
  }

  /** Notes a size of an argument; returns what it was in earlier captured calls. */
  noteSize(source: string, call: number, size: number): ReadonlyMap<number, number> {
    let seen = this.sizesSeen.get(source);
    if (seen === undefined) this.sizesSeen.set(source, (seen = new Map()));
    const before = new Map(seen);
    seen.set(call, size);
    return before;
  }

  /** Number of a symbol. */
  indexOf(symbol: SymInt): number {
    return this.indices.get(symbol)!;
  }

  /** A function that computes an expression from the bound values. */
  evaluator(expression: Size): SizeFunction {
    return compileSize(expression, (symbol) => this.indexOf(symbol));
  }
}
