/**
 * @file `ExportedGraph`: a graph with the conditions under which it stands for a function.
 */
import { TesseraError, inspectsAs, treeFlatten, treeUnflatten } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { GraphModule } from '../ir/graph-module.js';
import type { Node } from '../ir/node.js';
import { type Source, follow, printSource } from '../ir/source.js';
import type { GraphSymbols } from '../symbolic/graph-symbols.js';
import type { ExportedTensor } from './exported-tensor.js';
import { noteExported } from './is-exported-graph.js';

/** An input of the graph: which argument it is, and what it must be. */
export interface ExportedInput {
  readonly root: number;
  readonly source: Source;
  readonly guard: ExportedTensor;
}

/** An argument that is the tensor of an input: the function was given one tensor at both places. */
export interface ExportedDuplicate {
  readonly root: number;
  readonly source: Source;
  /** Number of the input. */
  readonly input: number;
}

/** A leaf of the result: output number, input number, or a constant. */
export type ExportedLeaf =
  { readonly output: number } | { readonly input: number } | { readonly value: unknown };

/** A constant argument, as it was. */
export interface ExportedConstant {
  readonly root: number;
  readonly source: Source;
  readonly value: unknown;
}

/** See the file header. */
export class ExportedGraph {
  private sizesFailure: ReturnType<GraphSymbols['failure']> | null = null;

  constructor(
    readonly graphModule: GraphModule,
    readonly inputs: readonly ExportedInput[],
    readonly constants: readonly ExportedConstant[],
    /** The result with leaves replaced. */
    readonly result: unknown,
    readonly duplicates: readonly ExportedDuplicate[] = [],
  ) {
    noteExported(this);
  }

  /** The conditions on arguments, printed. */
  get guards(): string[] {
    return [
      ...this.constants.map(({ source, value }) => `${printSource(source)} == ${String(value)}`),
      ...this.inputs.map(({ source, guard }) => `${printSource(source)}: ${guard.toString()}`),
      ...this.duplicates.map((duplicate) => this.sameness(duplicate)),
      ...(this.symbols?.guards(this.placeholders) ?? []),
    ];
  }

  private sameness({ source, input }: ExportedDuplicate): string {
    return `${printSource(this.inputs[input]!.source)} is ${printSource(source)}`;
  }

  /** The sizes that vary; null if none does. */
  get symbols(): GraphSymbols | null {
    return this.graphModule.graph.symbols;
  }

  private get placeholders(): readonly Node[] {
    return this.graphModule.graph.placeholders;
  }

  /** The graph as TypeScript. */
  print(): string {
    return this.graphModule.print();
  }

  /** Runs the graph. @throws export-guard if the arguments are not as they were at export */
  readonly call = (...args: readonly unknown[]): unknown => {
    const failed = this.failedGuard(args);
    if (failed !== null) {
      throw new TesseraError(
        'export-guard',
        `The exported graph does not hold for these arguments: ${failed}.`,
        {
          context: { guards: this.guards },
          hints: ['Export the function again with arguments like these.'],
        },
      );
    }
    const inputs = this.inputs.map(({ root, source }) => follow(args[root], source.steps));
    const outs = this.graphModule.forward(...inputs) as unknown[];
    const { leaves, spec } = treeFlatten(this.result, isResultLeaf);
    return treeUnflatten(
      leaves.map((leaf) => {
        const at = (leaf as ResultLeaf).leaf;
        return 'output' in at ? outs[at.output] : 'input' in at ? inputs[at.input] : at.value;
      }),
      spec,
    );
  };

  /** The first guard that fails, in words. */
  private failedGuard(args: readonly unknown[]): string | null {
    for (const { root, source, value } of this.constants)
      if (!Object.is(follow(args[root], source.steps), value))
        return `${printSource(source)} == ${String(value)}`;
    const seen = new Map<unknown, string>();
    for (const { root, source, guard } of this.inputs) {
      const name = printSource(source);
      const tensor = follow(args[root], source.steps);
      if (!isTensor(tensor)) return `type(${name}) is Tensor`;
      const words = guard.explain(tensor, name);
      if (words !== null) return words;
      const other = seen.get(tensor);
      if (other !== undefined) return `${other} is ${name}`;
      seen.set(tensor, name);
    }
    for (const duplicate of this.duplicates) {
      const { root, source } = this.inputs[duplicate.input]!;
      if (follow(args[duplicate.root], duplicate.source.steps) !== follow(args[root], source.steps))
        return this.sameness(duplicate);
    }
    return this.failedSize(args);
  }

  /** The first condition on symbolic sizes that fails, in words. */
  private failedSize(args: readonly unknown[]): string | null {
    const { symbols } = this;
    if (symbols === null) return null;
    const tensors = this.inputs.map(
      ({ root, source }) => follow(args[root], source.steps) as Tensor,
    );
    const values: number[] = [];
    this.sizesFailure ??= symbols.failure(this.placeholders);
    const failed = this.sizesFailure(tensors, values);
    if (failed !== null) return failed;
    for (const [i, { source, guard }] of this.inputs.entries()) {
      const words = guard.explainStrides(tensors[i]!, printSource(source), symbols, values);
      if (words !== null) return words;
    }
    return null;
  }
}

inspectsAs(ExportedGraph, (graph) => graph.print());

/** Marks a leaf of a result template. */
export class ResultLeaf {
  constructor(readonly leaf: ExportedLeaf) {}
}

/** Whether a value of a template is a leaf. */
export function isResultLeaf(value: unknown): boolean {
  return value instanceof ResultLeaf;
}
