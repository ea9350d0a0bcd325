/**
 * @file `TemplateNumbers`: what the numbers of several graphs of one program are, as expressions of the sizes of their
 * inputs.
 *
 * Numbers are visited in one order. One that differs between the graphs is an expression that its node proposes, what
 * numbers with the same values were, or what fits (`SizeFitter`), in this order. It remains a proposal.
 */
import {
  type FitTerm,
  type ShapeEnv,
  type Size,
  SizeFitter,
  type SymInt,
  compileSize,
  freeSymbols,
} from '@tessera/shared';

/** Sizes beyond which places are no 32-bit numbers. */
export const LARGEST: number = 2 ** 31 - 1;
/** 0 and 1 mean something else to many operators: nothing to do, and broadcasting. */
export const SMALLEST = 2;

/** Where a symbol is read from: the number of a number of the graph, and the least value that it may have. */
export interface SymbolSource {
  readonly at: number;
  readonly min: number;
}

/** A number that may be a symbol of its own: how it is called, and the least value that it may have. */
export interface Free {
  readonly source: string;
  readonly min: number;
}

/** What is known of a number before it is fitted. */
export interface Hint {
  readonly free: Free | null;
  /** Expressions, of which it is the first that has its values; a number that does not vary may be one too. */
  readonly likely: readonly Size[];
  /** Sizes that its node is given, of which it may be a part, a product or a neighbour. */
  readonly near: readonly Size[];
}

/** A number of a graph that is an expression. */
export interface Varying {
  /** Which of the numbers of a graph, in the order in which they are visited. */
  readonly at: number;
  readonly size: SymInt;
}

/** A number that follows no expression; caught by `GraphTemplate.of` alone. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
}

/** See the file header. */
export class TemplateNumbers {
  readonly sources: SymbolSource[] = [];
  readonly varying: Varying[] = [];
  /** Symbols by their values in the graphs, joined. */
  private readonly columns = new Map<string, SymInt>();
  /** What numbers with the same values were last found to be. */
  private readonly seen = new Map<string, Size>();
  private readonly values = new Map<SymInt, string>();
  private fitter: SizeFitter | null = null;

  /**
   * @param graphs the numbers of each
   * @param inputs which of them are sizes of inputs
   */
  constructor(
    private readonly env: ShapeEnv,
    private readonly graphs: readonly (readonly number[])[],
    inputs: readonly { readonly at: number; readonly source: string }[],
  ) {
    for (const { at, source } of inputs) {
      const values = this.valuesAt(at);
      if (values.every((value) => value === values[0]) || this.columns.has(values.join())) continue;
      this.add(at, values, { source, min: SMALLEST });
    }
  }

  get symbols(): readonly SymInt[] {
    return [...this.columns.values()];
  }

  /** What a number is; they are asked for in their order. @throws Unfit */
  fit(at: number, { free, likely, near }: Hint): Size {
    const values = this.valuesAt(at);
    const isConstant = values.every((value) => Object.is(value, values[0]));
    const key = values.join();
    const isIt = (size: Size): boolean => typeof size !== 'number' && this.valuesOf(size) === key;
    const proposed = !isConstant || values[0]! >= SMALLEST ? likely.find(isIt) : undefined;
    if (isConstant && proposed === undefined) return values[0]!;
    if (!values.every(Number.isSafeInteger)) throw new Unfit();
    if (proposed !== undefined) this.equate(proposed, key);
    let found =
      proposed ?? this.seen.get(key) ?? this.near(near, values) ?? this.explain(values, free);
    if (found === null && free !== null) found = this.add(at, values, free);
    if (found === null || typeof found === 'number') throw new Unfit();
    if (!isConstant) this.seen.set(key, found);
    this.varying.push({ at, size: found });
    return found;
  }

  /** A size that is proposed and another input's size with its values are one: code has one name for it. */
  private equate(size: Size, key: string): void {
    const symbol = this.columns.get(key);
    if (symbol !== undefined && !freeSymbols(size).includes(symbol))
      this.env.assume(symbol, '==', size);
  }

  private valuesAt(at: number): readonly number[] {
    return this.graphs.map((numbers) => numbers[at]!);
  }

  /** The values of an expression in the graphs, joined. */
  private valuesOf(size: SymInt): string {
    let values = this.values.get(size);
    if (values === undefined) {
      const { symbols } = this;
      const valueAt = compileSize(size, (symbol) => symbols.indexOf(symbol));
      const columns = this.terms().map(({ at }) => at);
      values = this.graphs.map((_, k) => valueAt(columns.map((column) => column[k]!))).join();
      this.values.set(size, values);
    }
    return values;
  }

  private terms(): readonly FitTerm[] {
    return [...this.columns].map(([key, size]) => ({ size, at: key.split(',').map(Number) }));
  }

  private near(sizes: readonly Size[], values: readonly number[]): Size | null {
    const terms = sizes.flatMap((size) =>
      typeof size === 'number' ? [] : [{ size, at: this.valuesOf(size).split(',').map(Number) }],
    );
    return new SizeFitter(terms).near(values);
  }

  /** What may be a symbol of its own is no line that happens to go through few graphs. */
  private explain(values: readonly number[], free: Free | null): Size | null {
    this.fitter ??= new SizeFitter(this.terms());
    return free === null ? this.fitter.fit(values) : this.fitter.near(values);
  }

  private add(at: number, values: readonly number[], { source, min }: Free): SymInt {
    if (values.some((value) => value < min || value > LARGEST)) throw new Unfit();
    const symbol = this.env.createSymbol(values[0]!, { source, min, max: LARGEST });
    this.columns.set(values.join(), symbol);
    this.sources.push({ at, min });
    this.fitter = null;
    return symbol;
  }
}
