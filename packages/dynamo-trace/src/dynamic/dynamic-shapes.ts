/**
 * @file `DynamicShapes`: decides, while a call is captured, which sizes and integers are symbols.
 *
 * A dim is symbolic when it was declared so (`dynamic: true`, `markDynamic`), when it depends on values (how many
 * elements a mask selects), or when it differs from an older call that the capture runs along. With `dynamic: true`, dims with equal values share a symbol (duck
 * sizing); a dim of an argument that was found to vary, or declared to, has its own, as in PyTorch. Integer arguments that differ from the older call become expressions of the symbols,
 * or symbols of their own (a loop counter).
 */
import { type Size, SizeFitter, remaindersIn, sizeMul } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { TensorGuard } from '../guards/tensor-guard.js';
import type { IntPattern, SymPattern } from '../trace/int-pattern.js';
import type { Frame } from '../frame/frame.js';
import type { TraceOptions } from '../trace-options.js';
import { dimMark } from './dynamic-marks.js';
import {
  ANY_RANGE,
  SIZE_RANGE,
  type SymbolEntry,
  type SymbolRange,
  type SymbolTable,
} from './symbol-table.js';

/** What an older call had at the same place. */
export interface Older<T> {
  readonly pattern: T;
  /** Numbers of the captured calls that walked there. */
  readonly calls: readonly number[];
}

/** Values by number of the capture. */
type Observations = ReadonlyMap<number, number>;

/** Values of an integer in older calls. */
function observe({ pattern, calls }: Older<IntPattern>): Observations {
  return typeof pattern === 'number'
    ? new Map(calls.map((call) => [call, pattern]))
    : pattern.values;
}

const NOTHING: Observations = new Map();

/** See the file header. */
export class DynamicShapes {
  private readonly staticSizes = new Set<number>();

  constructor(
    private readonly table: SymbolTable,
    private readonly frame: Frame,
    /** Number of the call that is captured. */
    readonly call: number,
    readonly option: TraceOptions['dynamic'],
  ) {
    if (call >= 0)
      for (const entry of this.bound) entry.values.set(call, this.frame.symbols[entry.index]!);
  }

  /** Symbols that have a value in this call. */
  private get bound(): SymbolEntry[] {
    return this.table.entries.filter((entry) => this.frame.symbols[entry.index] !== undefined);
  }

  /** The guard of a tensor that the trace meets for the first time. */
  tensorGuard(
    tensor: Tensor,
    older: Older<TensorGuard> | null,
    name: string,
    isArgument: boolean,
  ): TensorGuard {
    const comparable = older !== null && older.pattern.sizes.length === tensor.ndim ? older : null;
    const at = (kind: 'sizes' | 'strides', i: number): Older<IntPattern> | null =>
      comparable === null
        ? null
        : { pattern: comparable.pattern[kind][i]!, calls: comparable.calls };
    const sizes = tensor.sizes.map((_, dim) =>
      this.dim(tensor, dim, at('sizes', dim), name, isArgument),
    );
    for (const size of sizes) if (typeof size === 'number' && size > 1) this.staticSizes.add(size);
    if (sizes.every((size) => typeof size === 'number')) return TensorGuard.of(tensor);
    return TensorGuard.symbolic(
      tensor,
      sizes,
      this.strides(tensor, sizes, (i) => at('strides', i), name),
    );
  }

  private dim(
    tensor: Tensor,
    dim: number,
    older: Older<IntPattern> | null,
    name: string,
    isArgument: boolean,
  ): IntPattern {
    const size = tensor.sizes[dim]!;
    const declared = dimMark(tensor, dim);
    if (declared === 'static') return size;
    const source = `${name}.size()[${dim}]`;
    const named = isArgument ? this.table.noteSize(source, this.call, size) : NOTHING;
    const seen = older === null ? named : observe(older);
    const alone = isArgument && this.option !== true ? source : null;
    if (declared !== undefined) return this.symbolFor(size, seen, source, declared, alone);
    if (this.option === false || size < 2) return size;
    const changed = [...seen.values()].some((other) => other !== size);
    const depends = this.frame.counts.get(tensor)?.includes(dim) === true;
    if (!changed && !(this.option === true && isArgument) && !depends) return size;
    return this.symbolFor(size, seen, source, SIZE_RANGE, alone);
  }

  /**
   * The symbol that had the same values everywhere, or a new one.
   *
   * @param of only a symbol that is read there; null for any
   */
  private symbolFor(
    value: number,
    older: Observations,
    source: string,
    range: SymbolRange,
    of: string | null = null,
  ): SymPattern {
    const seen = new Map(older).set(this.call, value);
    const same = this.bound.find(
      (entry) =>
        entry.min === range.min &&
        entry.max === range.max &&
        (of === null || entry.source === of) &&
        [...seen].every(([call, at]) => entry.values.get(call) === at),
    );
    const entry = same ?? this.table.create(value, source, range);
    if (same === undefined) {
      for (const [call, at] of seen) entry.values.set(call, at);
      this.frame.bindSymbol(entry.index, value);
    }
    return this.pattern(entry.symbol, seen);
  }

  private pattern(expression: Size, values: Observations): SymPattern {
    const entry =
      typeof expression !== 'number' && expression.kind === 'symbol'
        ? this.table.entries[this.table.indexOf(expression)]!
        : null;
    return {
      code: 5,
      expression,
      bind: entry?.index ?? -1,
      min: entry?.min ?? -Infinity,
      max: entry?.max ?? Infinity,
      evaluate: this.table.evaluator(expression),
      remainders: remaindersIn(expression).map((size) => this.table.evaluator(size)),
      values: new Map(values),
    };
  }

  /** Strides are products of inner sizes where the layout is dense; else as fitted. */
  private strides(
    tensor: Tensor,
    sizes: readonly IntPattern[],
    older: (dim: number) => Older<IntPattern> | null,
    name: string,
  ): IntPattern[] {
    const patterns: IntPattern[] = [...tensor.strides];
    const order = tensor.strides
      .map((_, i) => i)
      .sort((a, b) => tensor.strides[a]! - tensor.strides[b]!);
    const done: { readonly extent: number; readonly size: Size }[] = [];
    for (const dim of order) {
      const stride = tensor.strides[dim]!;
      const inner = done.findLast(({ extent }) => extent === stride);
      let expression: Size = stride;
      if (stride > 1 && inner !== undefined) expression = inner.size;
      if (typeof expression !== 'number')
        patterns[dim] = this.pattern(expression, new Map([[this.call, stride]]));
      else if (stride > 1 && inner === undefined) {
        patterns[dim] = this.int(stride, older(dim), `${name}.stride()[${dim}]`, false);
        const fitted = patterns[dim]!;
        if (typeof fitted !== 'number') expression = fitted.expression;
      }
      const size = sizes[dim]!;
      done.push({
        extent: stride * tensor.sizes[dim]!,
        size: sizeMul(expression, typeof size === 'number' ? size : size.expression),
      });
    }
    return patterns;
  }

  /**
   * An integer argument: the number itself, or what it is in terms of the symbols.
   *
   * @param guess without an older call, take a number that equals a symbolic size for that size
   */
  int(value: number, older: Older<IntPattern> | null, name: string, guess: boolean): IntPattern {
    if (this.option === false || !Number.isSafeInteger(value)) return value;
    if (older === null) return guess ? this.guess(value) : value;
    if (older.pattern === value) return value;
    const seen = new Map(observe(older)).set(this.call, value);
    const fitted = fitExpression(seen, this.bound);
    if (fitted !== null) return this.pattern(fitted, seen);
    return this.symbolFor(value, observe(older), name, ANY_RANGE);
  }

  private guess(value: number): IntPattern {
    if (value < 2) return value;
    const sizes = this.bound.filter((entry) => entry.min >= 2);
    const valueOf = (entry: SymbolEntry): number => this.frame.symbols[entry.index]!;
    const seen = new Map([[this.call, value]]);
    for (const entry of sizes)
      if (valueOf(entry) === value) return this.pattern(entry.symbol, seen);
    // A width that does not vary is no product of sizes that do, though those may have it now.
    if (this.staticSizes.has(value)) return value;
    for (const a of sizes) {
      for (const b of sizes)
        if (valueOf(a) * valueOf(b) === value)
          return this.pattern(sizeMul(a.symbol, b.symbol), seen);
      const factor = value / valueOf(a);
      if (this.staticSizes.has(factor)) return this.pattern(sizeMul(a.symbol, factor), seen);
    }
    return value;
  }
}

/**
 * A plain expression through all observations; null if none is found: what may be anything is a symbol of its own. A wrong
 * guess costs a capture, never a result: replays compare the argument with the expression.
 */
function fitExpression(target: Observations, symbols: readonly SymbolEntry[]): Size | null {
  const calls = [...target.keys()];
  const usable = symbols.filter((entry) => calls.every((call) => entry.values.has(call)));
  if (calls.length < 2 || usable.length === 0) return null;
  const terms = usable.map((entry) => ({
    size: entry.symbol,
    at: calls.map((call) => entry.values.get(call)!),
  }));
  const found = new SizeFitter(terms).near(calls.map((call) => target.get(call)!));
  return typeof found === 'number' ? null : found;
}
