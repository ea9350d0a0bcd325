/**
 * @file `GraphSymbols`: the symbols of a graph, and reading their values from its inputs.
 *
 * A symbol is the size of a placeholder's dim. The first dim that is just the symbol binds it; every
 * other size of a placeholder is checked against the shapes that the graph was made for, and so are
 * declared ranges and the relations between symbols. A graph runs for sizes that pass, and for no others.
 */
import {
  type JsonSize,
  type RelationOp,
  ShapeEnv,
  type Size,
  type SizeFunction,
  type SymInt,
  TesseraError,
  compareNumbers,
  compileSize,
  decodeSize,
  encodeSize,
} from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { Node } from '../ir/node.js';
import { type ResultCheck, resultCheck } from './check-result.js';
import { singleShape } from '../ir/value-meta.js';
import type { SymbolicShape } from './symbolic-shape.js';

/** A symbol to be made. */
export interface SymbolSpec {
  readonly hint: number;
  readonly min: number;
  readonly max: number;
  /** Where it is read: `L['x'].size()[0]`. */
  readonly source: string;
}

/** A condition on symbols besides their ranges. */
export interface SymbolRelation {
  readonly left: Size;
  readonly op: RelationOp;
  readonly right: Size;
}

/** `GraphSymbols` as plain data. */
export interface JsonSymbols {
  readonly symbols: readonly {
    readonly hint: number;
    readonly min: number;
    readonly max: number | null;
    readonly source: string;
  }[];
  readonly relations: readonly {
    readonly left: JsonSize;
    readonly op: RelationOp;
    readonly right: JsonSize;
  }[];
}

/** See the file header. */
export class GraphSymbols {
  private readonly env = new ShapeEnv();
  readonly symbols: readonly SymInt[];
  readonly relations: SymbolRelation[] = [];
  private readonly indices: ReadonlyMap<SymInt, number>;

  constructor(readonly specs: readonly SymbolSpec[]) {
    this.symbols = specs.map(({ hint, min, max, source }) =>
      this.env.createSymbol(hint, { source, min, max }),
    );
    this.indices = new Map(this.symbols.map((symbol, i) => [symbol, i]));
  }

  /** Demands a relation. @throws invalid-argument when it does not hold for the hints */
  require(left: Size, op: RelationOp, right: Size): void {
    this.env.assume(left, op, right);
    this.relations.push({ left, op, right });
  }

  /** An expression as a function of the symbols' values in order. */
  compile(size: Size): SizeFunction {
    return compileSize(size, (symbol) => this.indices.get(symbol)!);
  }

  /** The check of a node's value when the graph runs; null where its sizes are no expressions. */
  checkOf(node: Node): ResultCheck | null {
    return resultCheck(node, this);
  }

  /** Whether an expression is made of these symbols. */
  owns(size: SymInt): boolean {
    return size.env === this.env;
  }

  /** The conditions, printed: equal sizes, ranges, relations. */
  guards(placeholders: readonly Node[]): string[] {
    return [
      ...this.checks(placeholders).map(({ text }) => text),
      ...this.specs.map((spec) => rangeText(spec)),
      ...this.relations.map((relation) => this.relationText(relation)),
    ];
  }

  /** A function that reads the symbols' values from the inputs of a graph. */
  binder(placeholders: readonly Node[]): (inputs: readonly unknown[]) => readonly number[] {
    const explain = this.failure(placeholders);
    return (inputs) => {
      const values: number[] = [];
      const failed = explain(inputs, values);
      if (failed === null) return values;
      throw new TesseraError(
        'symbolic-guard',
        `The graph does not hold for these sizes: ${failed}.`,
        {
          context: { guards: this.guards(placeholders) },
          hints: ['Trace the function again with arguments like these.'],
        },
      );
    };
  }

  /** A function that gives the first condition that inputs violate, in words, and fills in the values. */
  failure(
    placeholders: readonly Node[],
  ): (inputs: readonly unknown[], values?: number[]) => string | null {
    const shapes = placeholders.map((node) => singleShape(node.meta.symbolicVal));
    const binds = this.places(placeholders);
    const checks = this.checks(placeholders);
    const relations = this.relations.map((relation) => ({
      text: this.relationText(relation),
      left: this.compile(relation.left),
      right: this.compile(relation.right),
      op: relation.op,
    }));
    return (inputs, values = []) => {
      for (let i = 0; i < shapes.length; i++) {
        const words = describeMisfit(placeholders[i], shapes[i], inputs[i]);
        if (words !== null) return words;
      }
      for (const { input, dim } of binds) values.push((inputs[input] as Tensor).sizes[dim]);
      for (const { input, dim, expected, text } of checks) {
        const size = (inputs[input] as Tensor).sizes[dim];
        if (size !== expected(values)) return `${text} (it is ${size})`;
      }
      for (const [i, spec] of this.specs.entries()) {
        const value = values[i]!;
        if (value < spec.min || value > spec.max) return `${rangeText(spec)} (it is ${value})`;
      }
      for (const { text, left, op, right } of relations)
        if (!compareNumbers(left(values), op, right(values)))
          return `${text} (${this.symbols.map((symbol, i) => `${symbol.name} = ${values[i]}`).join(', ')})`;
      return null;
    };
  }

  /** Which dim of which input gives each symbol its value. */
  places(placeholders: readonly Node[]): { readonly input: number; readonly dim: number }[] {
    return this.symbols.map((symbol) => {
      for (const [input, node] of placeholders.entries()) {
        const dim = singleShape(node.meta.symbolicVal)?.sizes.indexOf(symbol) ?? -1;
        if (dim >= 0) return { input, dim };
      }
      throw new TesseraError(
        'graph-lint',
        `No input of the graph has a dim of size ${symbol.name}.`,
        {
          hints: ['Keep the placeholders that sizes are read from.'],
        },
      );
    });
  }

  /** Every further symbolic size of an input. */
  private checks(placeholders: readonly Node[]): {
    input: number;
    dim: number;
    expected: SizeFunction;
    text: string;
  }[] {
    const binds = this.places(placeholders);
    return placeholders.flatMap((node, input) => {
      return (singleShape(node.meta.symbolicVal)?.sizes ?? []).flatMap((size, dim) => {
        if (typeof size === 'number') return [];
        if (binds.some((place) => place.input === input && place.dim === dim)) return [];
        const index = this.indices.get(size);
        const first = index === undefined ? String(size) : this.specs[index].source;
        const text = `${placeName(node, dim)} == ${first}`;
        return [{ input, dim, expected: this.compile(size), text }];
      });
    });
  }

  private relationText({ left, op, right }: SymbolRelation): string {
    return `${String(left)} ${op} ${String(right)}`;
  }

  toJSON(): JsonSymbols {
    return {
      symbols: this.specs.map(({ hint, min, max, source }) => ({
        hint,
        min,
        max: Number.isFinite(max) ? max : null,
        source,
      })),
      relations: this.relations.map(({ left, op, right }) => ({
        left: encodeSize(left),
        op,
        right: encodeSize(right),
      })),
    };
  }

  /** Reads what `toJSON` wrote. */
  static fromJSON(json: JsonSymbols): GraphSymbols {
    const symbols = new GraphSymbols(
      json.symbols.map((spec) => ({ ...spec, max: spec.max ?? Infinity })),
    );
    const { byName } = symbols;
    for (const { left, op, right } of json.relations)
      symbols.require(decodeSize(left, byName), op, decodeSize(right, byName));
    return symbols;
  }

  /** The symbols by name. */
  get byName(): ReadonlyMap<string, SymInt> {
    return new Map(this.symbols.map((symbol) => [symbol.name, symbol]));
  }
}

/** `L['x'].size()[0]`, or with the placeholder's name where nothing says where it is from. */
export function placeName(node: Node, dim: number): string {
  return `${node.meta.source ?? node.name}.size()[${dim}]`;
}

function rangeText({ min, max, source }: SymbolSpec): string {
  return `${min} <= ${source}${max === Infinity ? '' : ` <= ${max}`}`;
}

/** Why an input is not even of the kind whose sizes can be read. */
function describeMisfit(
  node: Node,
  shape: SymbolicShape | undefined,
  value: unknown,
): string | null {
  if (shape === undefined) return null;
  const name = node.meta.source ?? node.name;
  if (!isTensor(value)) return `type(${name}) is Tensor`;
  if (value.ndim !== shape.sizes.length)
    return `${name}.dim() == ${shape.sizes.length} (it is ${value.ndim})`;
  for (let dim = 0; dim < value.ndim; dim++) {
    const size = shape.sizes[dim];
    if (typeof size === 'number' && value.sizes[dim] !== size)
      return `${placeName(node, dim)} == ${size} (it is ${value.sizes[dim]})`;
  }
  return null;
}
