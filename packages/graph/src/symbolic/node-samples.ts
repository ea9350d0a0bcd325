/**
 * @file `NodeSamples`: where a template with quotients is known to be right, node by node.
 *
 * How many windows an image has is a quotient, and a chain of them is a polynomial of sizes and of one remainder for each:
 * so many numbers that few samples do not determine it. But an operator's rule sees the sizes of its operands alone. The
 * values of a node are sums and products of those, or of how many windows lie in them, and samples of few numbers
 * determine that. That a count of windows is the quotient that the operator's rule computes is no matter of samples: the
 * template says it in the words of the rule (`windowSizes`).
 *
 * Numbers among the arguments of nodes come of what was captured, or were made by the parts of an operator, of the sizes
 * of its operands; operators that move windows hand on those that they were given. Where one varies, or the graph has
 * parts of a derivative, which see other sizes, nothing is known.
 */
import { SampledNumbers, type Size, SymInt, numbersIn } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { Node } from '../ir/node.js';
import { type GraphTemplate, hasSizes } from './graph-template.js';
import type { SymbolicShape } from './symbolic-shape.js';
import { isDense } from './template-proof.js';
import { windowSizes } from './window-sizes.js';

/** Values of nodes that are given the same sizes, as slots of the template's program. */
interface Group {
  readonly given: readonly number[];
  readonly made: Set<number>;
  readonly samples: SampledNumbers;
}

/** See the file header. */
export class NodeSamples {
  private constructor(
    private readonly groups: readonly Group[],
    /** Of each symbol, which input and which of its dimensions it is read from. */
    private readonly sources: readonly (readonly [input: number, dim: number])[],
  ) {}

  /** For a template with quotients; null where more than the sizes of its operands may matter to a node. */
  static of(template: GraphTemplate): NodeSamples | null {
    const { graph } = template.example;
    const inputs = graph.placeholders.map((node) => layoutsOf(template, node)[0]?.sizes ?? []);
    const sources = template.symbols.map((symbol) => {
      const input = inputs.findIndex((sizes) => sizes.includes(symbol));
      return [input, input < 0 ? -1 : inputs[input]!.indexOf(symbol)] as const;
    });
    if (template.quotients === 0 || sources.some(([input]) => input < 0)) return null;
    const groups = new Map<string, Group>();
    for (const node of graph.nodes) {
      if (node.op !== 'call_function') continue;
      const given = sizesGiven(template, node);
      if (given === null) return null;
      const slots = [...new Set(slotsOf(template, given))].sort((a, b) => a - b);
      const key = slots.join();
      const group = groups.get(key) ?? {
        given: slots,
        made: new Set(),
        samples: new SampledNumbers(),
      };
      groups.set(key, group);
      for (const { sizes, strides } of layoutsOf(template, node))
        for (const slot of slotsOf(template, [...sizes, ...strides])) group.made.add(slot);
    }
    return new NodeSamples([...groups.values()], sources);
  }

  /** Notes that the template was right where its program computed this. */
  add(computed: readonly number[]): void {
    for (const { given, made, samples } of this.groups)
      samples.add(numbersIn(given, computed), numbersIn([...made], computed));
  }

  /** The values of the symbols for inputs; null where one that they are read from is not given. */
  valuesFor(inputs: readonly unknown[]): readonly number[] | null {
    const values: number[] = [];
    for (const [input, dim] of this.sources) {
      const given = inputs[input] as Tensor | undefined;
      if (given === undefined) return null;
      values.push(given.sizes[dim]!);
    }
    return values;
  }

  /** Whether samples say the same of every node as the template, whose program computes this. */
  holds(computed: readonly number[]): boolean {
    return this.groups.every(({ given, made, samples }) => {
      const numbers = samples.at(numbersIn(given, computed));
      if (numbers === null) return false;
      let next = 0;
      for (const slot of made) if (numbers[next++] !== computed[slot]) return false;
      return true;
    });
  }
}

/** Sizes of which the values of a node are sums and products; null where it may be others. */
function sizesGiven(template: GraphTemplate, node: Node): readonly (Size | null)[] | null {
  if (node.meta.isBackward === true || template.argsOf(node) !== node.args) return null;
  const operands = node.allInputNodes().flatMap((input) => layoutsOf(template, input));
  const sizes = operands.flatMap((operand): readonly (Size | null)[] =>
    isDense(operand) ? operand.sizes : [...operand.sizes, ...operand.strides],
  );
  const counts = windowSizes(node, (input) => layoutsOf(template, input)[0]?.sizes);
  if (counts.length === 0) return sizes;
  const [image] = operands;
  const made = layoutsOf(template, node).map((layout) => layout.sizes.slice(-counts.length));
  // Expressions that are equal are one object.
  if (!isDense(image!) || !made.every((last) => last.every((size, i) => size === counts[i])))
    return null;
  return [...image!.sizes.slice(0, -counts.length), ...counts, ...sizes.slice(image!.sizes.length)];
}

function slotsOf({ program }: GraphTemplate, sizes: readonly (Size | null)[]): number[] {
  return sizes.flatMap((size) => (size instanceof SymInt ? program.slot(size) : []));
}

/** The layouts of the tensors that a node's value is. */
function layoutsOf(template: GraphTemplate, node: Node): readonly SymbolicShape[] {
  const found: unknown[] = [template.shapesOf(node) ?? node.meta.val].flat();
  return found.filter((value): value is SymbolicShape => isTensor(value) || hasSizes(value));
}
