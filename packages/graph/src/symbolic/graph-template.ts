/**
 * @file `GraphTemplate`: several graphs of one program as one graph with symbolic sizes.
 *
 * What differs between the graphs is proposed to be an expression of the sizes of their inputs. Nothing is believed
 * of it: a further graph belongs to the template if it is the same program and every one of its numbers is what the
 * expression gives for its sizes (`match`). Its own numbers came of the operators' shape rules.
 *
 * Places that slices, selections and ranges name (`INDEXED`) may be symbols too, read from the arguments that name them,
 * and so may sizes of values that are made of no tensor (`zeros`, `arange`), or of whose sizes operands say nothing
 * (`NAMED`).
 */
import {
  type Relation,
  ShapeEnv,
  type Size,
  SizeProgram,
  type SymInt,
  isDetermined,
  remaindersIn,
  sizeMul,
} from '@tessera/shared';
import { OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import { sameNumbers } from '@tessera/tensor/internal';
import type { GraphModule } from '../ir/graph-module.js';
import { type Argument, Node } from '../ir/node.js';
import { programDifference } from './same-program.js';
import { mapSymbols } from './symbolic-argument.js';
import type { SymbolicShape, SymbolicVal } from './symbolic-shape.js';
import {
  type Free,
  type Hint,
  LARGEST,
  SMALLEST,
  type SymbolSource,
  TemplateNumbers,
  Unfit,
} from './template-numbers.js';
import { partSizes } from './part-sizes.js';
import { scaledSizes } from './scaled-sizes.js';
import { windowSizes } from './window-sizes.js';

/** Operators with arguments, by position, that are places in a dimension: any place is as good as another. */
const INDEXED: Readonly<Record<string, readonly number[]>> = {
  'aten::slice.Tensor': [2, 3],
  'aten::slice_copy.Tensor': [2, 3],
  'aten::slice_scatter': [3, 4],
  'aten::slice_backward': [3, 4],
  'aten::select.int': [2],
  'aten::select_copy.int': [2],
  'aten::select_scatter': [3],
  'aten::select_backward': [3],
  'aten::narrow': [2],
  'aten::narrow_copy': [2],
  'aten::arange.start_step': [0, 1],
};

/**
 * Operators whose arguments name sizes that no operand has: a gradient of a mean is one number, wherever it goes, and
 * that of an image in patches knows their number alone.
 */
const NAMED: ReadonlySet<string> = new Set([
  'aten::expand',
  'aten::view',
  'aten::constant_pad_nd',
  'aten::slice_backward',
  'aten::select_backward',
]);

/** A number that varies: which of the numbers of a graph, in the order in which they are visited, and its slot. */
interface VaryingSlot {
  readonly at: number;
  readonly slot: number;
}

/** The least and the most that a number may be, and one that it may not be. */
function boundsOf({ op, bound }: Relation): readonly [least: number, most: number, not: number] {
  if (op === '!=') return [-Infinity, Infinity, bound];
  return [op === '<=' ? -Infinity : bound, op === '>=' ? Infinity : bound, NaN];
}

const NOTHING: readonly number[] = [];

/** See the file header. */
export class GraphTemplate {
  readonly env: ShapeEnv = new ShapeEnv();
  readonly symbols: readonly SymInt[];
  private readonly sources: readonly SymbolSource[];
  private readonly shapes = new Map<Node, SymbolicVal>();
  private readonly args = new Map<Node, readonly Argument[]>();
  /** All that is computed of the symbols. */
  readonly program: SizeProgram;
  private readonly varying: readonly VaryingSlot[];
  /** Slots of the numbers that vary, each once. */
  private readonly slots: readonly number[];
  /** How many of the numbers that vary are no polynomials that samples determine: the first ones. */
  readonly quotients: number;
  private readonly numbers: readonly number[];
  /** Slots, and `boundsOf` each, in turns. */
  private conditions: readonly number[] = [];
  /** The guards of which `conditions` are made. */
  private guards: readonly Relation[] | null = null;

  /** @param graphs of one program, in sizes that differ; the first is the example */
  private constructor(
    readonly example: GraphModule,
    graphs: readonly GraphModule[],
  ) {
    const all = graphs.map(numbersOf);
    const [{ list, inputs }] = all;
    this.numbers = list;
    const numbers = new TemplateNumbers(
      this.env,
      all.map((graph) => graph.list),
      inputs,
    );
    this.read(numbers);
    this.symbols = numbers.symbols;
    this.sources = numbers.sources;
    this.program = new SizeProgram(this.symbols);
    const slotOf = (size: Size): number => this.program.slot(size);
    this.varying = numbers.varying.map(({ at, size }) => ({ at, slot: slotOf(size) }));
    const sizes = [...new Set(numbers.varying.map(({ size }) => size))];
    const isPolynomial = (size: Size): boolean =>
      isDetermined(size) && remaindersIn(size).length === 0;
    const others = sizes.filter((size) => !isPolynomial(size));
    this.quotients = others.length;
    this.slots = [...others, ...sizes.filter(isPolynomial)].map(slotOf);
  }

  /**
   * The template of graphs, without symbols where they are the same in every number; null if they are not of one program,
   * have sizes below 2 that differ, or numbers that follow no expression of the sizes of their inputs.
   */
  static of(graphs: readonly GraphModule[]): GraphTemplate | null {
    const [example, ...others] = graphs;
    if (others.some((other) => !isSameProgram(example, other))) return null;
    try {
      return new GraphTemplate(example, graphs);
    } catch (error) {
      if (error instanceof Unfit) return null;
      throw error;
    }
  }

  /** The values of the symbols for which the template is this graph; null if there are none. */
  match(graph: GraphModule): readonly number[] | null {
    if (!isSameProgram(this.example, graph)) return null;
    const numbers = numbersOf(graph).list;
    const values = this.sources.map(({ at }) => numbers[at]!);
    if (!this.isInRange(values)) return null;
    const computed = this.program.run(values);
    let next = 0;
    for (let at = 0; at < numbers.length; at++) {
      const varying = this.varying[next];
      if (varying?.at === at) {
        next++;
        if (computed[varying.slot] !== numbers[at]) return null;
      } else if (!Object.is(this.numbers[at], numbers[at])) return null;
    }
    return values;
  }

  /** The numbers that vary, each once, of what the program computes. */
  numbersIn(computed: readonly number[]): readonly number[] {
    return this.slots.map((slot) => computed[slot]!);
  }

  /** Whether symbols may have the values with which a list begins. */
  private isInRange(values: readonly number[]): boolean {
    const { sources } = this;
    for (let i = 0; i < sources.length; i++)
      if (!(values[i]! >= sources[i]!.min && values[i]! <= LARGEST)) return false;
    return true;
  }

  /** What the program computes at the values with which a list begins: first those, and what `admits` asks. */
  at(values: readonly number[]): readonly number[] {
    const { guards } = this.env;
    if (guards !== this.guards) {
      this.guards = guards;
      this.conditions = [
        ...this.sources.flatMap(({ min }, slot) => [slot, min, LARGEST, NaN]),
        ...guards.flatMap((guard) => [this.program.slot(guard.base), ...boundsOf(guard)]),
      ];
    }
    return this.program.run(values);
  }

  /**
   * Whether symbols may have their values, and the conditions that were needed of them hold, where the program computes this.
   *
   * @param told the values of the symbols, and as many of `numbersIn` as must be these too
   */
  admits(computed: readonly number[], told: readonly number[] = NOTHING): boolean {
    const { conditions, slots } = this;
    const first = this.symbols.length;
    for (let i = first; i < told.length; i++)
      if (computed[slots[i - first]!] !== told[i]) return false;
    for (let i = 0; i < conditions.length; i += 4) {
      const value = computed[conditions[i]!]!;
      // NaN is in no range.
      if (!(value >= conditions[i + 1]! && value <= conditions[i + 2]!)) return false;
      if (value === conditions[i + 3]) return false;
    }
    return true;
  }

  /** Whether every symbol was fixed: the template is one graph. */
  get isFixed(): boolean {
    return this.symbols.every((symbol) => typeof this.env.simplify(symbol) === 'number');
  }

  /** Sizes and strides of a node's value; undefined where none of them vary. */
  shapesOf(node: Node): SymbolicVal | undefined {
    const val = this.shapes.get(node);
    if (val === undefined) return undefined;
    if (Array.isArray(val))
      return val.map((shape) => (shape === null ? null : this.simplified(shape)));
    return this.simplified(val);
  }

  private simplified({ sizes, strides }: SymbolicShape): SymbolicShape {
    const simplify = (size: Size): Size => this.env.simplify(size);
    return {
      sizes: sizes.map(simplify),
      strides: strides.map((stride) => (stride === null ? null : simplify(stride))),
    };
  }

  /** Arguments of a node, with expressions of the symbols. */
  argsOf(node: Node): readonly Argument[] {
    const args = this.args.get(node);
    if (args === undefined) return node.args;
    return args.map((arg) => mapSymbols(arg, (size) => this.env.simplify(size)));
  }

  /** Sizes of the tensors that a node's value is, which was visited before or has numbers alone. */
  private sizesIn(node: Node): readonly (readonly Size[])[] {
    const found = [this.shapes.get(node) ?? node.meta.val].flat();
    return found.flatMap((shape) => (hasSizes(shape) ? [shape.sizes] : []));
  }

  /** Visits the example's numbers in the order of `numbersOf`, and keeps what they are. */
  private read(numbers: TemplateNumbers): void {
    let at = 0;
    let free: Free | null = null;
    let near: readonly Size[] = [];
    const next = (likely: Hint['likely'] = []): Size => numbers.fit(at++, { free, likely, near });
    const shape = (tensor: Tensor, node: Node, part = 0): SymbolicShape => {
      const isMade = isTensor(node.meta.val) && namesSizes(node);
      const rank = tensor.sizes.length;
      const sizesOf = (input: Node): readonly Size[] | undefined => this.sizesIn(input)[0];
      const proposals = [
        windowSizes(node, sizesOf),
        scaledSizes(node, sizesOf),
        partSizes(node, part, sizesOf),
      ];
      const given = node.allInputNodes().flatMap((input) => this.sizesIn(input));
      const read = given.filter((sizes) => sizes.length === rank);
      near = [...new Set(given.flat())];
      const sizes = tensor.sizes.map((_, d) => {
        free = isMade ? { source: `${node.name}.size()[${d}]`, min: SMALLEST } : null;
        const made = proposals.map((proposed) => proposed.at(d - rank) ?? 0);
        return next([...made, ...read.map((sizes) => sizes[d]!)]);
      });
      free = null;
      near = [];
      const likely = denseStrides(tensor, sizes);
      return { sizes, strides: likely.map((stride) => next([stride])) };
    };
    const argument = (arg: Argument): Argument => {
      if (typeof arg === 'number') return next();
      if (arg instanceof Node || typeof arg !== 'object' || arg === null) return arg;
      if (Array.isArray(arg)) return arg.map(argument);
      return Object.fromEntries(
        Object.entries(arg as Record<string, Argument>).map(([key, item]) => [key, argument(item)]),
      );
    };
    for (const node of this.example.graph.nodes) {
      const { val } = node.meta;
      if (isTensor(val)) this.shapes.set(node, shape(val, node));
      else if (Array.isArray(val))
        this.shapes.set(
          node,
          val.map((item, part) => (isTensor(item) ? shape(item, node, part) : null)),
        );
      const before = numbers.varying.length;
      const args = node.args.map((arg, i) => {
        free = isPlace(node, i) ? { source: `${node.name}.args[${i}]`, min: 0 } : null;
        return argument(arg);
      });
      free = null;
      if (numbers.varying.length > before) this.args.set(node, args);
    }
  }
}

/** The strides that a tensor has if its elements lie side by side, in the order of the dimensions that it has. */
function denseStrides({ strides }: Tensor, sizes: readonly Size[]): readonly Size[] {
  const order = strides.map((_, d) => d).sort((a, b) => strides[a]! - strides[b]! || b - a);
  const dense = new Array<Size>(sizes.length);
  let below: Size = 1;
  for (const d of order) {
    dense[d] = below;
    below = sizeMul(below, sizes[d]!);
  }
  return dense;
}

export function hasSizes(value: unknown): value is { readonly sizes: readonly Size[] } {
  return typeof value === 'object' && value !== null && 'sizes' in value;
}

function isPlace({ target }: Node, position: number): boolean {
  return (
    target instanceof OpOverload && (INDEXED[target.qualifiedName]?.includes(position) ?? false)
  );
}

/** Whether sizes of a node's value can come from numbers alone that the program has. */
function namesSizes(node: Node): boolean {
  const { op, target } = node;
  if (target instanceof OpOverload && NAMED.has(target.qualifiedName)) return true;
  return op === 'call_function' && !node.allInputNodes().some(({ meta }) => isTensor(meta.val));
}

/** Whether two graphs compute the same from the same inputs, in every number, with the same inputs in one memory. */
export function isSameGraph(a: GraphModule, b: GraphModule): boolean {
  const [one, two] = [a, b].map(({ graph }) => graph.placeholders);
  return (
    isSameProgram(a, b) &&
    sameNumbers(numbersOf(a).list, numbersOf(b).list) &&
    one.every((input, i) => input.meta.scalar?.kind === two[i]!.meta.scalar?.kind) &&
    sameNumbers(memories(one), memories(two))
  );
}

/** For each input the first one with which it shares memory. */
function memories(inputs: readonly Node[]): number[] {
  const storages = inputs.map(({ meta: { val } }) => (isTensor(val) ? val.storageOrNull : val));
  return storages.map((storage) => storages.indexOf(storage));
}

function isSameProgram(a: GraphModule, b: GraphModule): boolean {
  if (programDifference(a, b) !== null) return false;
  const others = b.graph.nodes;
  return a.graph.nodes.every((node, i) => {
    const other = others[i]!;
    return (
      node.meta.isBackward === other.meta.isBackward &&
      node.meta.programOrder === other.meta.programOrder &&
      offsetOf(node) === offsetOf(other)
    );
  });
}

/** Where an input begins in its storage. */
function offsetOf({ op, meta: { val } }: Node): number {
  return op === 'placeholder' && isTensor(val) ? val.storageOffset : 0;
}

/** The numbers of a graph, and which of them are sizes of its inputs. */
interface GraphNumbers {
  readonly list: readonly number[];
  readonly inputs: readonly { readonly at: number; readonly source: string }[];
}

/** Every number of a graph that may be a size: sizes and strides of values, and numbers among arguments. */
function numbersOf({ graph }: GraphModule): GraphNumbers {
  const list: number[] = [];
  const inputs: { at: number; source: string }[] = [];
  const argument = (arg: Argument): void => {
    if (typeof arg === 'number') list.push(arg);
    else if (arg instanceof Node || typeof arg !== 'object' || arg === null) return;
    else for (const item of Object.values(arg as Record<string, Argument>)) argument(item);
  };
  const value = (val: unknown, input: Node | null): void => {
    if (!isTensor(val)) return;
    if (input !== null)
      val.sizes.forEach((_, dim) =>
        inputs.push({
          at: list.length + dim,
          source: `${input.meta.source ?? input.name}.size()[${dim}]`,
        }),
      );
    list.push(...val.sizes, ...val.strides);
  };
  for (const node of graph.nodes) {
    const { val } = node.meta;
    if (Array.isArray(val)) for (const item of val) value(item, null);
    else value(val, node.op === 'placeholder' ? node : null);
    node.args.forEach(argument);
  }
  return { list, inputs };
}
