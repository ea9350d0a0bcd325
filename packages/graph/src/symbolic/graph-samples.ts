/**
 * @file `GraphSamples`: what a graph of a program is at sizes at which it was not made.
 *
 * Graphs that were made are samples. Where they determine the numbers of the graph (`ProvenSizes`), the graph is their
 * template with other numbers, and can be had without running the program.
 */
import { copyModule } from '../ir/copy-module.js';
import type { GraphModule } from '../ir/graph-module.js';
import { GraphAtSizes } from './graph-at-sizes.js';
import { GraphTemplate } from './graph-template.js';
import { ProvenSizes } from './proven-sizes.js';
import { isUniformNode } from './template-proof.js';

/** Templates after which a graph is taken to have none. */
const MOST_TEMPLATES = 3;

/** A graph that is a sample. */
export interface SampledGraph {
  /** The same graph at other sizes; null if it is not known. */
  at(sizes: readonly number[]): GraphAtSizes | null;
}

interface Sample {
  readonly module: GraphModule;
  readonly sizes: readonly number[];
}

/** See the file header. Sizes are numbers of symbols and their values, in turns. */
export class GraphSamples {
  private samples: readonly Sample[] = [];
  private template: GraphTemplate | null = null;
  private proven: ProvenSizes | null = null;
  private templates = 0;

  /** Notes the graph at sizes, which may be changed afterwards. */
  add(module: GraphModule, sizes: readonly number[]): SampledGraph | null {
    if (!module.graph.nodes.every(isUniformNode)) return null;
    if (this.note(module, sizes)) return this.like(this.template);
    if (this.templates === MOST_TEMPLATES) return null;
    const sample = { module: copyModule(module), sizes };
    const samples = [...this.samples, sample];
    const modules = samples.map((each) => each.module);
    const template = modules.length > 1 ? GraphTemplate.of(modules) : null;
    if (template !== null) {
      this.samples = samples;
      this.templates++;
      this.template = template;
      this.proven = ProvenSizes.of(template);
      for (const each of samples) this.note(each.module, each.sizes);
      return this.like(template);
    }
    // A first graph with sizes of its own kind (0, 1) is no sample of the others.
    if (this.template === null) this.samples = [sample];
    return null;
  }

  /** Notes a graph that the template stands for; false for others. */
  private note(module: GraphModule, sizes: readonly number[]): boolean {
    const { template } = this;
    const values = template?.match(module) ?? null;
    if (values === null) return false;
    this.proven?.add(sizes, template!.at(values));
    return true;
  }

  private like(template: GraphTemplate | null): SampledGraph {
    return {
      at: (sizes) => {
        const found = this.template === template ? this.proven?.computedAt(sizes, null) : null;
        return found == null
          ? null
          : new GraphAtSizes(template!, found.slice(0, template!.symbols.length));
      },
    };
  }
}
