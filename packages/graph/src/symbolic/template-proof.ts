/**
 * @file `TemplateProof`: for which sizes a template is known to be the graph that its program would be made into.
 *
 * Every operator of it does the same at all sizes (`isUniform`). Where its numbers are known (`ProvenSizes`), what is left
 * to ask at further sizes is whether operators are in the case in which they were for the example.
 */
import { type Size, SymInt, sizeMul } from '@tessera/shared';
import { OpOverload, type Tensor } from '@tessera/tensor';
import { type Argument, Node } from '../ir/node.js';
import { tensorVal } from '../ir/value-meta.js';
import type { GraphTemplate } from './graph-template.js';
import type { SymbolicShape } from './symbolic-shape.js';
import type { CaseOf, Shaped } from './operator-cases.js';
import { LayoutClass, casesOf, isUniform } from './uniform-operators.js';

/** What a case is asked of: a slot of what the template's program computes, a layout in slots, a list, or what never varies. */
type Part = number | SlottedShape | readonly Part[] | Fixed;

interface Fixed {
  readonly value: unknown;
}

/** A call of an operator. */
interface Call {
  readonly caseOf: CaseOf;
  readonly args: readonly Part[];
  /** Null for a case that does not ask for results. */
  readonly outs: readonly Part[] | null;
}

/** A condition: in which case it must be. */
interface Condition extends Call {
  readonly wanted: string | null;
}

/** A layout, as slots of the template's program. */
interface SlottedShape {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** An input whose layout varies. */
interface VaryingInput extends SlottedShape {
  readonly position: number;
  readonly offset: number;
  /** Of which class it must be; null where its expressions say that its elements lie side by side. */
  readonly wanted: LayoutClass | null;
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
    const calls = nodes.flatMap((node) => reader.callOf(node) ?? []);
    const example = template.at(template.symbols.map(({ hint }) => hint));
    const conditions = calls.map((call): Condition => ({ ...call, wanted: caseIn(call, example) }));
    return conditions.some(({ wanted }) => wanted === null)
      ? null
      : new TemplateProof(reader.sizes, conditions, reader.inputs);
  }

  /**
   * Whether inputs, as far as they are given, are those of the template, and operators in its cases, where its program
   * computes this. Loops: it seldom runs, so nothing inlines it.
   */
  holds(computed: readonly number[], inputs: readonly unknown[] | null): boolean {
    const { sizes, conditions } = this;
    for (let i = 0; i < sizes.length; i++) if (!(computed[sizes[i]!]! >= 2)) return false;
    for (let i = 0; i < this.inputs.length; i++) {
      const input = this.inputs[i]!;
      const { position, offset, sizes, strides, wanted } = input;
      if (wanted !== null && !wanted.has(layoutIn(input, computed))) return false;
      const given = inputs?.[position] as Tensor | undefined;
      if (given === undefined) continue;
      if (given.storageOffset !== offset || given.sizes.length !== sizes.length) return false;
      for (let k = 0; k < sizes.length; k++) {
        if (given.sizes[k] !== computed[sizes[k]!]) return false;
        if (given.strides[k] !== computed[strides[k]!]) return false;
      }
    }
    for (let i = 0; i < conditions.length; i++) {
      const { caseOf, args, outs, wanted } = conditions[i]!;
      const results = outs === null ? NONE : (listIn(outs, computed) as Shaped[]);
      if (caseOf(listIn(args, computed), results) !== wanted) return false;
    }
    return true;
  }
}

const NONE: readonly Shaped[] = [];

/** The case of a call where the template's program computes this. */
function caseIn({ caseOf, args, outs }: Call, computed: readonly number[]): string | null {
  return caseOf(listIn(args, computed), listIn(outs ?? [], computed) as Shaped[]);
}

/** A layout where the template's program computes this. */
function layoutIn({ sizes, strides }: SlottedShape, computed: readonly number[]): Shaped {
  const layout: { sizes: number[]; strides: number[] } = { sizes: [], strides: [] };
  for (let d = 0; d < sizes.length; d++) {
    layout.sizes.push(computed[sizes[d]!]!);
    layout.strides.push(computed[strides[d]!]!);
  }
  return layout;
}

/** What the parts of a list are where the template's program computes this. */
function listIn(parts: readonly Part[], computed: readonly number[]): unknown[] {
  const list: unknown[] = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if (typeof part === 'number') list.push(computed[part]);
    else if ('value' in part) list.push(part.value);
    else list.push('sizes' in part ? layoutIn(part, computed) : listIn(part, computed));
  }
  return list;
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
      const [symbolic] = this.listOf(node);
      if (symbolic === undefined || !this.varies(node)) return [];
      const { sizes, strides, storageOffset: offset } = tensorVal(node)!;
      const wanted = isDense(symbolic) ? null : new LayoutClass({ sizes, strides });
      return [{ ...this.shape(symbolic), position, offset, wanted }];
    });
  }

  /** Slots of the sizes met so far that vary. */
  get sizes(): number[] {
    return [...this.sized];
  }

  /** What is called in a node; null if it is in one case at all sizes. */
  callOf(node: Node): Call | null {
    const outs = this.listOf(node).map((shape) => this.layout(shape));
    const { target } = node;
    const caseOf = target instanceof OpOverload ? casesOf(target) : null;
    if (caseOf === null) return null;
    const given = this.template.argsOf(node);
    if (![node, ...node.allInputNodes()].some((value) => this.varies(value)) && given === node.args)
      return null;
    const args = given.map((arg) => this.part(arg));
    return { caseOf, args, outs: caseOf.length > 1 ? outs : null };
  }

  /** Whether the layout of a node's value varies. */
  private varies(node: Node): boolean {
    return this.listOf(node).some(varies);
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

  private part(arg: Argument | Size): Part {
    if (arg instanceof Node) {
      const [shape] = this.listOf(arg);
      return shape === undefined ? { value: undefined } : this.layout(shape);
    }
    if (isSymbolic(arg)) return this.template.program.slot(arg);
    if (!Array.isArray(arg)) return { value: arg };
    const parts = arg.map((item) => this.part(item));
    // Numbers alone are read by nobody who changes them.
    return parts.every(isFixed) ? { value: parts.map(({ value }) => value) } : parts;
  }

  private layout(shape: SymbolicShape): Part {
    if (varies(shape)) return this.shape(shape);
    return { value: { sizes: shape.sizes, strides: shape.strides.map((stride) => stride ?? 0) } };
  }
}

function varies({ sizes, strides }: SymbolicShape): boolean {
  return [...sizes, ...strides].some(isSymbolic);
}

function isFixed(part: Part): part is Fixed {
  return typeof part === 'object' && 'value' in part;
}

/** Whether expressions say that elements lie side by side in the order of dimensions; those that are equal are one object. */
export function isDense({ sizes, strides }: SymbolicShape): boolean {
  let below: Size = 1;
  for (let i = sizes.length - 1; i >= 0; below = sizeMul(below, sizes[i--]!))
    if (strides[i] !== below) return false;
  return true;
}

function isSymbolic(arg: unknown): arg is SymInt {
  return arg instanceof SymInt;
}
