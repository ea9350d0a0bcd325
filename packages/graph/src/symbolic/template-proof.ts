/**
 * @file `TemplateProof`: for which sizes a template is known to be the graph that its program would be made into.
 *
 * Every operator of it does the same at all sizes (`isUniform`). Where its numbers are known (`ProvenSizes`), what is left
 * to ask at further sizes is whether operators are in the case in which they were for the example.
 */
import { type Size, type SizeFunction, SymInt, compileSize } from '@tessera/shared';
import { OpOverload, type Tensor } from '@tessera/tensor';
import { sameNumbers } from '@tessera/tensor/internal';
import { type Argument, Node } from '../node.js';
import type { GraphTemplate } from './graph-template.js';
import type { SymbolicShape } from './symbolic-shape.js';
import type { Shaped } from './operator-cases.js';
import { caseOfSizes, hasCases, isUniform, layoutClass } from './uniform-operators.js';

/** A value at given sizes. */
type At<T> = (values: readonly number[]) => T;

/** A condition: what a case is at given sizes, and what it must be. */
interface Condition {
  readonly caseAt: At<string | null>;
  readonly wanted: string;
}

/** An input whose layout varies. */
interface VaryingInput {
  readonly position: number;
  readonly layoutAt: At<Shaped>;
  readonly offset: number;
}

/** See the file header. */
export class TemplateProof {
  private constructor(
    /** Sizes that vary. */
    private readonly sizes: readonly SizeFunction[],
    private readonly conditions: readonly Condition[],
    private readonly inputs: readonly VaryingInput[],
  ) {}

  /** What is known of a template; null if nothing is. */
  static of(template: GraphTemplate): TemplateProof | null {
    const { nodes } = template.example.graph;
    if (!nodes.every(isUniformNode)) return null;
    const reader = new TemplateReader(template);
    const example = template.symbols.map(({ hint }) => hint!);
    const conditions: Condition[] = [];
    for (const node of nodes) {
      const caseAt = reader.caseOf(node);
      if (caseAt === null) continue;
      const wanted = caseAt(example);
      if (wanted === null) return null;
      conditions.push({ caseAt, wanted });
    }
    return new TemplateProof(reader.sizes, conditions, reader.inputs);
  }

  /** Whether inputs, if given, are those of the template, and operators in its cases, at these values of the symbols. */
  holds(values: readonly number[], inputs: readonly unknown[] | null): boolean {
    return (
      this.sizes.every((size) => size(values) >= 2) &&
      (inputs === null || this.inputs.every((input) => isInput(input, values, inputs))) &&
      this.conditions.every(({ caseAt, wanted }) => caseAt(values) === wanted)
    );
  }
}

function isInput(
  { position, layoutAt, offset }: VaryingInput,
  values: readonly number[],
  inputs: readonly unknown[],
): boolean {
  const { sizes, strides } = layoutAt(values);
  const input = inputs[position] as Tensor;
  return (
    input.storageOffset === offset &&
    sameNumbers(input.sizes, sizes) &&
    sameNumbers(input.strides, strides)
  );
}

/** Whether a node does the same at all sizes. */
export function isUniformNode({ target }: Node): boolean {
  return !(target instanceof OpOverload) || isUniform(target);
}

/** Reads nodes of a template as functions of its symbols. */
class TemplateReader {
  private readonly varying = new Map<SymInt, SizeFunction>();
  private readonly sized = new Set<SizeFunction>();

  constructor(private readonly template: GraphTemplate) {}

  /** Inputs of the graph whose layout varies. */
  get inputs(): VaryingInput[] {
    return this.template.example.graph.placeholders.flatMap((node, position) => {
      const layoutAt = this.shapesOf(node)?.[0];
      if (layoutAt === undefined || !this.varies(node)) return [];
      return [{ position, layoutAt, offset: (node.meta.val as Tensor).storageOffset }];
    });
  }

  /** Sizes met so far that vary. */
  get sizes(): SizeFunction[] {
    return [...this.sized];
  }

  /** The case of a node; null if it is in one for all sizes. */
  caseOf(node: Node): At<string | null> | null {
    const outs = this.shapesOf(node) ?? [];
    const { target } = node;
    if (node.op === 'placeholder')
      return this.varies(node) ? (v) => layoutClass(outs[0]!(v)) : null;
    if (!(target instanceof OpOverload) || !hasCases(target)) return null;
    const given = this.template.argsOf(node);
    if (![node, ...node.allInputNodes()].some((value) => this.varies(value)) && given === node.args)
      return null;
    const args = given.map((arg) => this.argument(arg));
    return (v) =>
      caseOfSizes(
        target,
        args.map((arg) => arg(v)),
        outs.map((out) => out(v)),
      );
  }

  /** Shapes of the values of a node; null if it has none. */
  private shapesOf(node: Node): readonly At<Shaped>[] | null {
    const list = this.listOf(node);
    return list.length === 0 ? null : list.map((shape) => this.shape(shape));
  }

  /** Whether the layout of a node's value varies. */
  private varies(node: Node): boolean {
    return this.listOf(node).some(({ sizes, strides }) =>
      [...sizes, ...strides].some((size) => typeof size === 'object' && size !== null),
    );
  }

  private listOf(node: Node): readonly SymbolicShape[] {
    const shapes = this.template.shapesOf(node) ?? [];
    const list = (Array.isArray(shapes) ? shapes : [shapes]) as readonly (SymbolicShape | null)[];
    return list.filter((shape) => shape !== null);
  }

  private shape({ sizes, strides }: SymbolicShape): At<Shaped> {
    const sizesAt = sizes.map((size) => this.number(size));
    sizes.forEach((size, i) => {
      if (typeof size !== 'number') this.sized.add(sizesAt[i]!);
    });
    const stridesAt = strides.map((stride) => this.number(stride ?? 0));
    return (v) => ({ sizes: sizesAt.map((at) => at(v)), strides: stridesAt.map((at) => at(v)) });
  }

  private argument(arg: Argument | Size): At<unknown> {
    if (arg instanceof Node) return this.shapesOf(arg)?.[0] ?? (() => undefined);
    if (Array.isArray(arg)) {
      const items = (arg as readonly Argument[]).map((item) => this.argument(item));
      return (v) => items.map((at) => at(v));
    }
    return isSymbolic(arg) ? this.number(arg) : () => arg;
  }

  private number(size: Size): SizeFunction {
    if (typeof size === 'number') return () => size;
    let at = this.varying.get(size);
    if (at === undefined) {
      at = compileSize(size, (symbol) => this.template.symbols.indexOf(symbol));
      this.varying.set(size, at);
    }
    return at;
  }
}

function isSymbolic(arg: unknown): arg is SymInt {
  return arg instanceof SymInt;
}
