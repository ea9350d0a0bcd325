/**
 * @file `TemplateProof`: for which sizes a template is known to be the graph that its program would be made into.
 *
 * Every operator of it does the same at all sizes (`isUniform`). Where its numbers are known (`ProvenSizes`), what is left
 * to ask at further sizes is whether operators are in the case in which they were for the example.
 */
import { type Size, SymInt, numbersIn } from '@tessera/shared';
import { OpOverload, type Tensor } from '@tessera/tensor';
import { type Argument, Node } from '../node.js';
import type { GraphTemplate } from './graph-template.js';
import type { SymbolicShape } from './symbolic-shape.js';
import type { Shaped } from './operator-cases.js';
import { LayoutClass, casesOf, isUniform } from './uniform-operators.js';

/** A value of what the template's program computes. */
type In<T> = (computed: readonly number[]) => T;

/** A condition: what a case is, and what it must be. */
interface Condition {
  readonly caseIn: In<string | null>;
  readonly wanted: string;
}

/** A layout, as slots of the template's program. */
interface SlottedShape {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** An input whose layout varies, and of which class it must be. */
interface VaryingInput extends SlottedShape {
  readonly position: number;
  readonly offset: number;
  readonly wanted: LayoutClass;
}

/** See the file header. */
export class TemplateProof {
  private constructor(
    /** Slots of sizes that vary. */
    private readonly sizes: readonly number[],
    private readonly conditions: readonly Condition[],
    private readonly inputs: readonly VaryingInput[],
  ) {}

  /** What is known of a template; null if nothing is. */
  static of(template: GraphTemplate): TemplateProof | null {
    const { nodes } = template.example.graph;
    if (!nodes.every(isUniformNode)) return null;
    const reader = new TemplateReader(template);
    const cases = nodes.flatMap((node) => reader.caseOf(node) ?? []);
    const example = template.at(template.symbols.map(({ hint }) => hint!));
    const conditions: Condition[] = [];
    for (const caseIn of cases) {
      const wanted = caseIn(example);
      if (wanted === null) return null;
      conditions.push({ caseIn, wanted });
    }
    return new TemplateProof(reader.sizes, conditions, reader.inputs);
  }

  /**
   * Whether inputs, if given, are those of the template, and operators in its cases, where its program computes this.
   * Loops: it seldom runs, so nothing inlines it.
   */
  holds(computed: readonly number[], inputs: readonly unknown[] | null): boolean {
    const { sizes, conditions } = this;
    for (let i = 0; i < sizes.length; i++) if (!(computed[sizes[i]!]! >= 2)) return false;
    for (let i = 0; i < this.inputs.length; i++) {
      const input = this.inputs[i]!;
      if (inputs !== null && !isInput(input, computed, inputs[input.position] as Tensor))
        return false;
      if (!input.wanted.has(shapeIn(input, computed))) return false;
    }
    for (let i = 0; i < conditions.length; i++)
      if (conditions[i]!.caseIn(computed) !== conditions[i]!.wanted) return false;
    return true;
  }
}

function isInput(
  { sizes, strides, offset }: VaryingInput,
  computed: readonly number[],
  input: Tensor,
): boolean {
  return (
    input.storageOffset === offset &&
    areIn(input.sizes, sizes, computed) &&
    areIn(input.strides, strides, computed)
  );
}

/** Whether numbers are what was computed in slots. */
function areIn(
  numbers: readonly number[],
  slots: readonly number[],
  computed: readonly number[],
): boolean {
  if (numbers.length !== slots.length) return false;
  for (let i = 0; i < slots.length; i++) if (numbers[i] !== computed[slots[i]!]) return false;
  return true;
}

function shapeIn({ sizes, strides }: SlottedShape, computed: readonly number[]): Shaped {
  return { sizes: numbersIn(sizes, computed), strides: numbersIn(strides, computed) };
}

/** Whether a node does the same at all sizes. */
export function isUniformNode({ target }: Node): boolean {
  return !(target instanceof OpOverload) || isUniform(target);
}

/** Reads nodes of a template, and has its program compute what they need. */
class TemplateReader {
  private readonly sized = new Set<number>();

  constructor(private readonly template: GraphTemplate) {}

  /** Inputs of the graph whose layout varies. */
  get inputs(): VaryingInput[] {
    return this.template.example.graph.placeholders.flatMap((node, position) => {
      const shape = this.shapesOf(node)[0];
      if (shape === undefined || !this.varies(node)) return [];
      const example = node.meta.val as Tensor;
      const { sizes, strides } = example;
      const wanted = new LayoutClass({ sizes, strides });
      return [{ ...shape, position, offset: example.storageOffset, wanted }];
    });
  }

  /** Slots of the sizes met so far that vary. */
  get sizes(): number[] {
    return [...this.sized];
  }

  /** The case of a node; null if it is in one for all sizes. */
  caseOf(node: Node): In<string | null> | null {
    const outs = this.shapesOf(node);
    const { target } = node;
    const caseOf = target instanceof OpOverload ? casesOf(target) : null;
    if (caseOf === null) return null;
    const given = this.template.argsOf(node);
    if (![node, ...node.allInputNodes()].some((value) => this.varies(value)) && given === node.args)
      return null;
    const argsIn = this.list(given);
    const outsIn = this.shapes(outs, this.varies(node));
    return (computed) => caseOf(argsIn(computed), outsIn(computed));
  }

  /** Shapes of results; the same list for all sizes if they do not vary. */
  private shapes(outs: readonly SlottedShape[], vary: boolean): In<readonly Shaped[]> {
    let known: readonly Shaped[] | null = null;
    return (computed) => {
      if (known !== null) return known;
      const made: Shaped[] = [];
      for (let i = 0; i < outs.length; i++) made.push(shapeIn(outs[i]!, computed));
      if (!vary) known = made;
      return made;
    };
  }

  /** Shapes of the values of a node. */
  private shapesOf(node: Node): readonly SlottedShape[] {
    return this.listOf(node).map((shape) => this.shape(shape));
  }

  /** Whether the layout of a node's value varies. */
  private varies(node: Node): boolean {
    return this.listOf(node).some(({ sizes, strides }) =>
      [...sizes, ...strides].some((size) => typeof size === 'object' && size !== null),
    );
  }

  private listOf(node: Node): readonly SymbolicShape[] {
    const shapes = this.template.shapesOf(node) ?? [];
    const list = Array.isArray(shapes) ? shapes : [shapes];
    return list.filter((shape) => shape !== null);
  }

  private shape({ sizes, strides }: SymbolicShape): SlottedShape {
    const { program } = this.template;
    const slots = sizes.map((size) => program.slot(size));
    sizes.forEach((size, i) => {
      if (typeof size !== 'number') this.sized.add(slots[i]!);
    });
    return { sizes: slots, strides: strides.map((stride) => program.slot(stride ?? 0)) };
  }

  /** A list, of which most items never vary. */
  private list(args: readonly (Argument | Size)[]): In<readonly unknown[]> {
    const items = args.map((arg) => this.argument(arg));
    const varying = [...args.keys()].filter((i) => this.isVarying(args[i]));
    let first: readonly unknown[] | null = null;
    return (computed) => {
      if (first === null) return (first = items.map((item) => item(computed)));
      const made = first.slice();
      for (let i = 0; i < varying.length; i++) made[varying[i]!] = items[varying[i]!]!(computed);
      return made;
    };
  }

  /** Whether an argument depends on what was computed. */
  private isVarying(arg: unknown): boolean {
    if (arg instanceof Node) return this.varies(arg);
    return isSymbolic(arg) || (Array.isArray(arg) && arg.some((item) => this.isVarying(item)));
  }

  private argument(arg: Argument | Size): In<unknown> {
    if (arg instanceof Node) {
      const shape = this.shapesOf(arg)[0];
      return shape === undefined ? () => undefined : (computed) => shapeIn(shape, computed);
    }
    if (Array.isArray(arg)) return this.list(arg);
    if (!isSymbolic(arg)) return () => arg;
    const slot = this.template.program.slot(arg);
    return (computed) => computed[slot];
  }
}

function isSymbolic(arg: unknown): arg is SymInt {
  return arg instanceof SymInt;
}
