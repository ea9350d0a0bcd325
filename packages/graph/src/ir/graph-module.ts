/**
 * @file `GraphModule`: a graph together with the tensors and submodules it refers to.
 *
 * Attributes are held by dotted path (`layers.0.weight`); a path may also lead into a nested
 * GraphModule. `forward` runs the graph with the current attributes and follows edits of the graph.
 * Modelled on torch.fx.GraphModule.
 */
import { inspectsAs } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { graphError } from './graph-error.js';
import { Graph } from './graph.js';
import { lintGraph } from './lint.js';
import { Node } from './node.js';
import { type PrintOptions, printGraph, printNode } from './print-graph.js';
import { type Program, compileGraph } from '../run/program.js';
import type { Submodule } from './submodule.js';

/** What a GraphModule holds under a path. */
export type Attribute = Tensor | Submodule;

/** See the file header. `Result` is what its graph was made to return. */
export class GraphModule<out Result = unknown> {
  readonly attributes: Map<string, Attribute>;
  private program: Program | null = null;
  private programRevision = -1;

  constructor(
    attributes: Iterable<readonly [string, Attribute]>,
    readonly graph: Graph,
  ) {
    this.attributes = new Map(attributes);
  }

  /** Runs the graph. @throws graph-lint when the number of inputs is wrong */
  forward(...inputs: readonly unknown[]): Result {
    if (this.program === null || this.programRevision !== this.graph.revision) {
      this.program = compileGraph(this.graph, this);
      this.programRevision = this.graph.revision;
    }
    return this.program(inputs) as Result;
  }

  /** The attribute at a path. @throws graph-lint when there is none */
  getAttribute(path: string): Attribute {
    const found = this.findAttribute(path);
    if (found === undefined) {
      throw graphError(
        `The module has no attribute '${path}'.`,
        `It has: ${[...this.attributes.keys()].join(', ') || 'none'}.`,
      );
    }
    return found;
  }

  /** Whether there is an attribute at a path. */
  hasAttribute(path: string): boolean {
    return this.findAttribute(path) !== undefined;
  }

  /** Sets the attribute at a path. */
  setAttribute(path: string, value: Attribute): void {
    this.attributes.set(path, value);
  }

  /** Adds an attribute under the first free name made from `prefix` and returns its path. */
  addAttribute(prefix: string, value: Attribute): string {
    let n = this.attributes.size;
    let path = `${prefix}${n}`;
    while (this.attributes.has(path)) path = `${prefix}${++n}`;
    this.attributes.set(path, value);
    return path;
  }

  /** Drops attributes that no node refers to; returns how many. */
  removeUnusedAttributes(): number {
    // A path keeps itself and every module on the way to it.
    const used = new Set<string>();
    for (const node of this.graph.nodes) {
      if (node.op !== 'get_attr' && node.op !== 'call_module') continue;
      const path = node.path;
      used.add(path);
      for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1))
        used.add(path.slice(0, dot));
    }
    const unused = [...this.attributes.keys()].filter((path) => !used.has(path));
    for (const path of unused) this.attributes.delete(path);
    return unused.length;
  }

  /** Constant tensors by path. */
  get tensors(): [string, Tensor][] {
    return [...this.attributes].filter((entry): entry is [string, Tensor] => isTensor(entry[1]));
  }

  /** Checks the graph and that its attributes exist. @throws graph-lint */
  lint(): void {
    lintGraph(this.graph, this);
  }

  /** The graph as TypeScript. */
  print(options?: PrintOptions): string {
    return printGraph(this.graph, options);
  }

  toString(): string {
    return this.print();
  }

  private findAttribute(path: string): Attribute | undefined {
    let attributes: ReadonlyMap<string, Attribute> = this.attributes;
    let rest = path;
    for (;;) {
      const found = attributes.get(rest);
      if (found !== undefined) return found;
      const inner = longestModulePrefix(attributes, rest);
      if (inner === null) return undefined;
      attributes = inner.module.attributes;
      rest = rest.slice(inner.length + 1);
    }
  }
}

inspectsAs(GraphModule);
inspectsAs(Graph, printGraph);
inspectsAs(Node, printNode);

function longestModulePrefix(
  attributes: ReadonlyMap<string, Attribute>,
  path: string,
): { module: GraphModule; length: number } | null {
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const value = attributes.get(path.slice(0, dot));
    if (value instanceof GraphModule) return { module: value, length: dot };
  }
  return null;
}
